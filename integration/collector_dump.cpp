#include "integration/collector_dump.h"

#include <cstring>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    REQUIRE(at_ + sizeof value <= text_.size());
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  [[nodiscard]] bool is_at_end() const { return at_ == text_.size(); }

 private:
  const std::string& text_;
  std::size_t at_ = 8;
};

}  // namespace

Dump read_dump(const std::string& text, bool is_full) {
  REQUIRE(text.substr(0, 8) ==
          (is_full ? std::string("GCFULL\x01\0", 8) : std::string("GCGRPH\x01\0", 8)));
  Dump dump;
  Reader reader(text);
  for (std::uint64_t base = reader.number(); base != kEnd; base = reader.number()) {
    Listed& object = dump[base];
    const std::uint64_t size = reader.number();
    object.bytes = size & ~kAtomic;
    object.is_atomic = (size & kAtomic) != 0;
    if (is_full) {
      REQUIRE(object.bytes % 8 == 0);
      for (std::uint64_t at = 0; at < object.bytes; at += 8) object.words[at] = reader.number();
      continue;
    }
    object.first = reader.number();
    if (object.is_atomic) continue;
    for (auto at = reader.number(); at != kEnd; at = reader.number()) {
      object.words[at] = reader.number();
    }
  }
  CHECK(reader.is_at_end());
  return dump;
}

void check_consistent(const Dump& dump) {
  for (const auto& [base, object] : dump) {
    for (const auto& [offset, to] : object.words) {
      auto around = dump.upper_bound(to);
      REQUIRE(around != dump.begin());
      --around;
      CHECK(to - around->first < around->second.bytes);
    }
  }
}

}  // namespace heapattach
