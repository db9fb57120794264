// A walk from each type would take types times edges. Instead a word of 64 bits flows from the
// front of the graph to its end, over each edge once: which of 64 types reach this object. The
// strongly connected parts of a graph have an order in which that works, and all objects of a part
// have the same bits. So the edges are walked once for each 64 types that have objects.

#include "report/analyze/transitive.h"

#include <algorithm>
#include <bit>

namespace heapattach::analyze {

namespace {

class Flow {
 public:
  Flow(const Walk& walk, std::span<const snapshot::TypeIndex> types)
      : walk_(walk), types_(types), reached_by_(walk.objects.size(), 0) {}

  // Adds to `sums` for the types whose bit number is in `bit_of`; others have none (64 or more).
  void run(std::span<const std::uint32_t> bit_of,
           std::span<const std::uint64_t> bytes,
           std::span<std::uint64_t> sums) {
    std::fill(reached_by_.begin(), reached_by_.end(), 0);
    for (std::size_t end = walk_.by_part.size(); end > 0;) {
      std::size_t first = end - 1;
      std::uint64_t bits = arriving_at(walk_.by_part[first], bit_of);
      while (first > 0 && !walk_.ends_part[first - 1]) {
        bits |= arriving_at(walk_.by_part[--first], bit_of);
      }
      if (bits != 0) spread({walk_.by_part.data() + first, end - first}, bits, bytes, sums);
      end = first;
    }
  }

 private:
  std::uint64_t arriving_at(Number number, std::span<const std::uint32_t> bit_of) const {
    const std::uint32_t bit = bit_of[types_[number]];
    std::uint64_t bits = bit < 64 ? std::uint64_t{1} << bit : 0;
    bits |= reached_by_[walk_.parent[number]];
    for (const Number from : walk_.others_to(number)) bits |= reached_by_[from];
    return bits;
  }

  void spread(std::span<const Number> part,
              std::uint64_t bits,
              std::span<const std::uint64_t> bytes,
              std::span<std::uint64_t> sums) {
    std::uint64_t sum = 0;
    for (const Number number : part) {
      sum += bytes[number];
      reached_by_[number] = bits;
    }
    for (std::uint64_t left = bits; left != 0; left &= left - 1) {
      sums[static_cast<std::size_t>(std::countr_zero(left))] += sum;
    }
  }

  const Walk& walk_;
  std::span<const snapshot::TypeIndex> types_;
  FlatArray<std::uint64_t> reached_by_;  // by number: bits of the types that reach it
};

}  // namespace

std::vector<std::uint64_t> transitive_bytes(const Walk& walk,
                                            std::span<const snapshot::TypeIndex> types,
                                            std::span<const std::uint64_t> bytes,
                                            std::size_t type_count) {
  std::vector<bool> is_used(type_count);
  for (const Number number : walk.by_part) is_used[types[number]] = true;
  std::vector<snapshot::TypeIndex> used;
  for (snapshot::TypeIndex type = 0; type < type_count; ++type) {
    if (is_used[type]) used.push_back(type);
  }
  std::vector<std::uint64_t> result(type_count);
  Flow flow(walk, types);
  for (std::size_t first = 0; first < used.size(); first += 64) {
    const std::size_t count = std::min<std::size_t>(64, used.size() - first);
    std::vector<std::uint32_t> bit_of(type_count, kUnseen);
    for (std::uint32_t bit = 0; bit < count; ++bit) bit_of[used[first + bit]] = bit;
    std::vector<std::uint64_t> sums(64);
    flow.run(bit_of, bytes, sums);
    for (std::size_t bit = 0; bit < count; ++bit) result[used[first + bit]] = sums[bit];
  }
  return result;
}

}  // namespace heapattach::analyze
