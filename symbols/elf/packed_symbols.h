#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace heapattach {

// The longest name of a symbol: those of Crystal's generic types reach several thousand bytes.
inline constexpr std::size_t kLongestSymbolName = 16'384;

// A symbol from the file. `name` is valid for as long as its source exists.
struct ElfSymbol {
  std::string_view name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool is_function = false;
  bool is_resolver = false;  // STT_GNU_IFUNC: its result is the function
};

// Symbols one after another, each with its name, in one block of memory. It takes about as much
// space as the symbols do in the file, and a worker can return it unchanged.
class PackedSymbols {
 public:
  PackedSymbols() = default;
  // Reads a worker's bytes, up to the first impossible record.
  explicit PackedSymbols(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    std::size_t end = 0;
    while (record_ends(end)) end += size_at(end);
    bytes_.resize(end);
  }

  void add(const ElfSymbol& symbol) {
    const Record record{symbol.address,
                        symbol.bytes,
                        static_cast<std::uint16_t>(symbol.name.size()),
                        static_cast<std::uint8_t>(symbol.is_function),
                        static_cast<std::uint8_t>(symbol.is_resolver),
                        0};
    const auto* const from = reinterpret_cast<const std::byte*>(&record);
    bytes_.insert(bytes_.end(), from, from + sizeof record);
    const auto name = std::as_bytes(std::span(symbol.name));
    bytes_.insert(bytes_.end(), name.begin(), name.end());
  }

  // Calls `visit` with each.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t at = 0; at < bytes_.size(); at += size_at(at)) {
      const Record record = record_at(at);
      const char* const name = reinterpret_cast<const char*>(bytes_.data() + at + sizeof record);
      visit(ElfSymbol{{name, record.name_bytes},
                      record.address,
                      record.bytes,
                      record.is_function != 0,
                      record.is_resolver != 0});
    }
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  struct Record {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint16_t name_bytes;
    std::uint8_t is_function;
    std::uint8_t is_resolver;
    std::uint32_t unused;
  };
  static_assert(sizeof(Record) == 24 && kLongestSymbolName <= UINT16_MAX);

  [[nodiscard]] Record record_at(std::size_t at) const {
    Record record;  // NOLINT(*-member-init): all of it is copied
    std::memcpy(&record, bytes_.data() + at, sizeof record);
    return record;
  }
  [[nodiscard]] std::size_t size_at(std::size_t at) const {
    return sizeof(Record) + record_at(at).name_bytes;
  }
  // Whether a complete record that add() could have written starts at `at`.
  [[nodiscard]] bool record_ends(std::size_t at) const {
    if (bytes_.size() - at < sizeof(Record)) return false;
    const std::size_t name_bytes = record_at(at).name_bytes;
    return name_bytes > 0 && name_bytes <= kLongestSymbolName &&
           name_bytes <= bytes_.size() - at - sizeof(Record);
  }

  std::vector<std::byte> bytes_;
};

}  // namespace heapattach
