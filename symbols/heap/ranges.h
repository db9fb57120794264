#pragma once

#include <span>
#include <vector>

#include "attach/base/remote_addr.h"

namespace heapattach::heap {

// Sorts ranges, joins those that touch, and leaves out empty ones.
std::vector<Range> joined(std::vector<Range> ranges);

// `range` without the parts in `holes` (sorted, disjoint).
std::vector<Range> without(Range range, std::span<const Range> holes);

// Appends `from` without `holes`, in any order, to `into`.
void subtract(Range from, std::span<const Range> holes, std::vector<Range>& into);

}  // namespace heapattach::heap
