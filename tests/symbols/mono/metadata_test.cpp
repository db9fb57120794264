#include "symbols/mono/metadata.h"

#include <cstring>

#include <doctest/doctest.h>

namespace heapattach {
namespace {

constexpr std::uint64_t kRoot = 0x7f00'0000'0004;

// Metadata with one class and the enumeration "State", byte by byte.
class Bytes {
 public:
  Bytes() {
    number(0x424a5342, 4);
    number(0x0001'0001, 4);
    number(0, 4);
    number(4, 4);
    text("v4");
    number(0, 1);
    number(0, 2);
    number(3, 2);
    const std::size_t headers = bytes.size();
    bytes.resize(headers + 12 + 20 + 16);
    stream(headers, "#~", [&] { tables(); });
    stream(headers + 12, "#Strings", [&] {
      for (const char* const name : {"", "Paid", "Sent", "value__", "Lost"}) text(name);
    });
    stream(headers + 32, "#Blob", [&] {
      for (const int byte : {0, 1, 200, 1, 7, 2, 0xff, 0xff}) number(byte, 1);
    });
  }

  [[nodiscard]] std::vector<std::pair<std::int64_t, std::string>> values(
      std::uint32_t token) const {
    const mono::ReadWord read = [&](std::uint64_t at) -> std::optional<std::uint64_t> {
      std::uint64_t word = 0;
      CHECK(at % 8 == 0);
      for (std::uint64_t i = 0; i < 8; ++i) {
        const std::uint64_t inside = at + i - kRoot;
        if (inside < bytes.size()) word |= std::uint64_t{bytes[inside]} << i * 8;
      }
      const bool is_there = at + 8 > kRoot && at < kRoot + bytes.size();
      return is_there ? std::optional(word) : std::nullopt;
    };
    std::vector<std::pair<std::int64_t, std::string>> found;
    const auto metadata = mono::Metadata::at(kRoot, read);
    if (!metadata) return found;
    for (const auto& one : metadata->values_of(token)) found.emplace_back(one.value, one.name);
    return found;
  }

  std::vector<std::uint8_t> bytes;
  std::size_t sorted_at = 0;
  std::size_t constants_at = 0;

 private:
  void number(std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(value >> i * 8 & 0xff));
    }
  }
  void number(int value, std::size_t count) { number(static_cast<std::uint64_t>(value), count); }
  void text(const char* const characters) {
    for (std::size_t i = 0; i <= std::strlen(characters); ++i) number(characters[i], 1);
  }
  template <class Write>
  void stream(std::size_t header, const char* const name, const Write& write) {
    const std::size_t start = bytes.size();
    write();
    const auto set = [&](std::size_t at, std::size_t value) {
      for (std::size_t i = 0; i < 4; ++i) {
        bytes[at + i] = static_cast<std::uint8_t>(value >> i * 8 & 0xff);
      }
    };
    set(header, start);
    set(header + 4, bytes.size() - start);
    std::memcpy(&bytes[header + 8], name, std::strlen(name));
  }
  void row(std::initializer_list<int> cells) {
    for (const int cell : cells) number(cell, 2);
  }
  void tables() {
    number(0, 4);
    number(0x0100'0002, 4);
    number(1 << 2 | 1 << 4 | 1 << 0xb, 8);
    sorted_at = bytes.size();
    number(1 << 0xb, 8);
    for (const int rows : {2, 5, 3}) number(rows, 4);
    row({0, 0, 0, 0, 0, 1, 1});  // a class: attributes, name, namespace, base, fields, methods
    row({0, 0, 0, 0, 0, 2, 1});  // the enumeration
    row({0x06, 1, 0});           // the class's field
    row({0x606, 11, 0});         // value__
    row({0x8056, 1, 0});         // Paid
    row({0x8056, 6, 0});         // Sent
    row({0x8056, 19, 0});        // Lost
    constants_at = bytes.size();
    row({0x05, 3 << 2, 3});  // 7
    row({0x05, 4 << 2, 1});  // 200
    row({0x06, 5 << 2, 5});  // -1
  }
};

using Values = std::vector<std::pair<std::int64_t, std::string>>;

TEST_CASE("the values of an enumeration have the names that metadata gives them") {
  Bytes metadata;
  CHECK(metadata.values(0x0200'0002) == Values{{-1, "Lost"}, {7, "Paid"}, {200, "Sent"}});
  CHECK(metadata.values(0x0200'0001).empty());
  CHECK(metadata.values(0x0200'0003).empty());
  CHECK(metadata.values(0x0200'0000).empty());
  CHECK(metadata.values(0x0100'0002).empty());
  SUBCASE("not if the signature is another") {
    metadata.bytes[0] = 'b';
    CHECK(metadata.values(0x0200'0002).empty());
  }
  SUBCASE("not if the constants are not sorted") {
    metadata.bytes[metadata.sorted_at + 1] = 0;
    CHECK(metadata.values(0x0200'0002).empty());
  }
  SUBCASE("not if a value has another size than its type") {
    metadata.bytes[metadata.constants_at] = 0x08;
    CHECK(metadata.values(0x0200'0002).empty());
  }
  SUBCASE("not if one has no constant") {
    metadata.bytes[metadata.constants_at + 14] = 6 << 2;
    CHECK(metadata.values(0x0200'0002).empty());
  }
}

TEST_CASE("metadata that is cut or damaged anywhere gives no other names") {
  const Bytes whole;
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    Bytes cut = whole;
    cut.bytes.resize(size);
    const Values values = cut.values(0x0200'0002);
    CHECK((values.empty() || values.size() == 3));
  }
  for (std::size_t at = 0; at < whole.bytes.size(); ++at) {
    for (const char byte : {'\0', '\x7f', '\x80', '\xff'}) {
      Bytes damaged = whole;
      damaged.bytes[at] = static_cast<std::uint8_t>(byte);
      CHECK(damaged.values(0x0200'0002).size() <= 4);
    }
  }
}

}  // namespace
}  // namespace heapattach
