#include "report/redact/sip_hash.h"

#include <bit>
#include <cstring>

namespace heapattach {

namespace {

class State {
 public:
  explicit State(const std::array<std::uint64_t, 2>& key)
      : v0_(key[0] ^ 0x736f6d6570736575),  // the letters of "somepseudorandomlygeneratedbytes"
        v1_(key[1] ^ 0x646f72616e646f6d),
        v2_(key[0] ^ 0x6c7967656e657261),
        v3_(key[1] ^ 0x7465646279746573) {}

  void add(std::uint64_t word) {
    v3_ ^= word;
    rounds(2);
    v0_ ^= word;
  }
  std::uint64_t finish() {
    v2_ ^= 0xff;
    rounds(4);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void rounds(int count) {
    for (; count > 0; --count) {
      v0_ += v1_;
      v2_ += v3_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v1_;
      v0_ += v3_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

std::uint64_t sip_hash(const std::array<std::uint64_t, 2>& key, std::string_view text) {
  State state(key);
  const std::uint64_t length = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    state.add(word);
  }
  std::uint64_t last = length << 56;
  for (std::size_t i = 0; i < text.size(); ++i) {
    last |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  state.add(last);
  return state.finish();
}

}  // namespace heapattach
