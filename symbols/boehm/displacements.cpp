#include "symbols/boehm/displacements.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace heapattach::boehm {

namespace {

constexpr std::size_t kOldTableBytes = 2049;
constexpr std::size_t kMostBytes = std::size_t{1} << 24;

std::size_t table_bytes(const Layout& layout) {
  return layout.word_headers ? kOldTableBytes : std::tuple_size_v<heap::Displacements>;
}

std::optional<heap::Displacements> as_table(std::span<const std::byte> bytes) {
  heap::Displacements table{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] > std::byte{1}) return std::nullopt;
    table.at(i) = bytes[i] == std::byte{1};
  }
  // The beginning of an object always counts.
  if (!table[0]) return std::nullopt;
  return table;
}

// How certain it is that there is a table at `at`: 2 if the table of its remainders modulo eight
// (GC_modws_valid_offsets) follows directly, as up to 7.4; 1 if that table may be somewhere before;
// 0 otherwise. If all displacements count, that other table is not kept, and nothing else looks
// like this one.
int rank(const heap::Displacements& table,
         std::size_t size,
         std::span<const std::byte> bytes,
         std::size_t at) {
  std::array<std::byte, 8> expected{};
  bool has_all = true;
  for (std::size_t i = 0; i < size; ++i) {
    has_all = has_all && table.at(i);
    if (table.at(i)) expected.at(i % 8) = std::byte{1};
  }
  if (has_all) return 2;
  const auto behind = bytes.subspan(at + size, std::min(expected.size(), bytes.size() - at - size));
  if (std::equal(expected.begin(), expected.end(), behind.begin(), behind.end())) return 2;
  const auto before = bytes.first(at);
  const auto found = std::search(before.begin(), before.end(), expected.begin(), expected.end());
  return found != before.end() ? 1 : 0;
}

}  // namespace

std::optional<heap::Displacements> read_displacements(RemoteAddr at,
                                                      const Layout& layout,
                                                      const MemoryReader& memory) {
  std::vector<std::byte> bytes(table_bytes(layout));
  if (!memory.read(at, bytes)) return std::nullopt;
  return as_table(bytes);
}

std::optional<DisplacementsFound> search_displacements(const Range& arrays,
                                                       const Layout& layout,
                                                       const MemoryReader& memory) {
  const std::size_t size = table_bytes(layout);
  std::vector<std::byte> bytes(std::min<std::size_t>(arrays.bytes, kMostBytes));
  const Copy copy{arrays.start, bytes};
  if (!memory.copy_all({&copy, 1}, {})) return std::nullopt;
  std::optional<DisplacementsFound> found;
  std::pair<int, std::ptrdiff_t> best{1, 0};
  std::size_t run = 0;  // of small bytes, starting at the current one
  for (std::size_t i = bytes.size(); i-- > 0;) {
    run = bytes[i] > std::byte{1} ? 0 : run + 1;
    if (i % 8 != 0 || run < size || bytes[i] == std::byte{0}) continue;
    const auto table = as_table(std::span(bytes).subspan(i, size));
    if (!table) continue;
    const std::ptrdiff_t count = std::count(table->begin(), table->end(), true);
    const std::pair here{rank(*table, size, bytes, i), count};
    if (here <= best) continue;
    best = here;
    found = DisplacementsFound{arrays.start + i, count == static_cast<std::ptrdiff_t>(size)};
  }
  return found;
}

}  // namespace heapattach::boehm
