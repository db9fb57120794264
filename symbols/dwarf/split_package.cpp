#include "symbols/dwarf/split_package.h"

#include <cstring>

// The section, DWARF 5 section 7.3.5.3 (before it GCC's wiki, DebugFissionDWP):
//
//     version, number of columns, of units, of slots         4 bytes each
//     ids by slot                                             8
//     numbers of rows by slot, from one on; zero: no unit     4
//     which section each column is of                         4
//     a row of offsets for each unit                          4 a column
//     a row of sizes for each unit                            4 a column
//
// The slots are a hash table, which is of no use for reading all units.

namespace heapattach::types {
namespace {

constexpr std::uint32_t kMostColumns = 16;
constexpr std::uint32_t kMostSlots = 1U << 24U;

class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool has(std::uint64_t at, std::uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    T number{};
    if (has(offset, sizeof number)) std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }

 private:
  std::span<const std::byte> bytes_;
};

// The part for a column; null if the column is not used here.
PackageIndex::Part* part_of(PackageIndex::Row& row, std::uint32_t section, std::uint32_t version) {
  switch (section) {
    case 1: return &row.info;
    case 2: return &row.type_units;
    case 3: return &row.abbreviations;
    case 4: return &row.lines;
    case 5: return &row.locations;
    case 6: return &row.string_offsets;
    case 8: return version == 5 ? &row.ranges : nullptr;  // older: that of macros
    default: return nullptr;
  }
}

}  // namespace

PackageIndex::PackageIndex(std::span<const std::byte> section) {
  const Numbers numbers(section);
  const auto version = numbers.at<std::uint32_t>(0);
  const auto columns = numbers.at<std::uint32_t>(4);
  const auto units = numbers.at<std::uint32_t>(8);
  const auto slots = numbers.at<std::uint32_t>(12);
  if ((version != 2 && version != 5) || columns > kMostColumns || slots > kMostSlots) return;
  constexpr std::uint64_t kIds = 16;
  const std::uint64_t row_numbers = kIds + std::uint64_t{8} * slots;
  const std::uint64_t sections = row_numbers + std::uint64_t{4} * slots;
  const std::uint64_t offsets = sections + std::uint64_t{4} * columns;
  const std::uint64_t row_bytes = std::uint64_t{4} * columns;
  if (!numbers.has(offsets, 2 * row_bytes * units)) return;
  const std::uint64_t sizes = offsets + row_bytes * units;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const auto number = numbers.at<std::uint32_t>(row_numbers + 4 * slot);
    if (number == 0 || number > units) continue;
    Row& row = rows_[numbers.at<std::uint64_t>(kIds + 8 * slot)];
    for (std::uint64_t i = 0; i < columns; ++i) {
      Part* const part = part_of(row, numbers.at<std::uint32_t>(sections + 4 * i), version);
      const std::uint64_t at = (number - 1) * row_bytes + 4 * i;
      if (part == nullptr) continue;
      *part = {numbers.at<std::uint32_t>(offsets + at), numbers.at<std::uint32_t>(sizes + at)};
    }
  }
}

}  // namespace heapattach::types
