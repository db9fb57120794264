#pragma once

#include <span>
#include <vector>

#include "attach/base/remote_addr.h"

namespace heapattach::heap {

// Sorts ranges, joins those that touch, and leaves out empty ones.
std::vector<Range> joined(std::vector<Range> ranges);

// Those of `ranges` (sorted, disjoint) that overlap `memory`.
[[nodiscard]] std::span<const Range> overlapping(std::span<const Range> ranges,
                                                 const Range& memory);

// Calls visit(part) for each part of `range` outside `holes` (sorted, disjoint).
template <class Visit>
void for_each_outside(const Range& range, std::span<const Range> holes, const Visit& visit) {
  RemoteAddr from = range.start;
  for (const Range& hole : overlapping(holes, range)) {
    if (hole.start > from) visit(Range{from, hole.start - from});
    from = hole.end();
  }
  if (from < range.end()) visit(Range{from, range.end() - from});
}

// `range` without the parts in `holes` (sorted, disjoint).
std::vector<Range> without(Range range, std::span<const Range> holes);

// Appends `from` without `holes`, in any order, to `into`.
void subtract(Range from, std::span<const Range> holes, std::vector<Range>& into);

}  // namespace heapattach::heap
