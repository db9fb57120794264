#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "report/format/export/root_groups.h"
#include "report/model/model.h"

namespace heapattach {

// The first object, not before `first`, in the page of the last object before `end`.
inline std::size_t first_of_page(const snapshot::Snapshot& snapshot,
                                 std::size_t first,
                                 std::size_t end) {
  constexpr unsigned kPageBits = 12;
  std::size_t at = end - 1;
  const std::uint64_t page = snapshot.objects[at].address >> kPageBits;
  while (at > first && snapshot.objects[at - 1].address >> kPageBits == page) --at;
  return at;
}

// Calls `visit` with the index of each object, in the order in which the collector itself walks its
// blocks (GC_apply_to_all_blocks of bdwgc 7.2 to 8.2). Its index has one part for each 4 MiB.
// Within a part, pages come last to first, and the objects of a page in address order. Stops when
// `visit` returns false.
template <class Visit>
void in_collector_order(const snapshot::Snapshot& snapshot, const Visit& visit) {
  constexpr unsigned kPartBits = 22;
  const auto& objects = snapshot.objects;
  for (std::size_t part = 0; part < objects.size();) {
    const std::uint64_t number = std::uint64_t{objects[part].address} >> kPartBits;
    std::size_t part_end = part;
    while (part_end < objects.size() && objects[part_end].address >> kPartBits == number) {
      ++part_end;
    }
    for (std::size_t end = part_end; end > part;) {
      const std::size_t first = first_of_page(snapshot, part, end);
      for (std::size_t i = first; i < end; ++i) {
        if (!visit(static_cast<snapshot::ObjectIndex>(i))) return;
      }
      end = first;
    }
    part = part_end;
  }
}

// Tests whether a word points into an object that the snapshot counts. Finds the page first (there
// are about a hundred times fewer pages than objects), then the object in it by binary search.
class CountedPlaces {
 public:
  explicit CountedPlaces(const snapshot::Snapshot& snapshot) : snapshot_(snapshot) {
    for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
      const std::uint64_t page = snapshot.objects[i].address >> kPageBits;
      if (pages_.empty() || pages_.back().number != page) pages_.push_back({page, i});
    }
  }

  [[nodiscard]] bool hold(std::uint64_t word) const {
    const auto& objects = snapshot_.objects;
    if (objects.empty() || word < objects.front().address || word >> 48 != 0) return false;
    const auto behind = std::upper_bound(
        pages_.begin(), pages_.end(), word >> kPageBits,
        [](std::uint64_t number, const Page& page) { return number < page.number; });
    const std::size_t end = behind == pages_.end() ? objects.size() : behind->first;
    const auto first = objects.begin() + static_cast<std::ptrdiff_t>((behind - 1)->first);
    const auto last = objects.begin() + static_cast<std::ptrdiff_t>(end);
    const auto next = std::upper_bound(
        first, last, word,
        [](std::uint64_t at, const snapshot::Object& object) { return at < object.address; });
    if (next == first) return false;
    const snapshot::Object& object = *(next - 1);
    return word - object.address < snapshot_.bytes_of(object) && is_counted(snapshot_, object);
  }

 private:
  static constexpr unsigned kPageBits = 12;
  struct Page {
    std::uint64_t number;
    std::size_t first;  // object in it
  };

  const snapshot::Snapshot& snapshot_;
  std::vector<Page> pages_;  // pages in which objects start
};

}  // namespace heapattach
