#pragma once

#include <functional>
#include <span>
#include <vector>

#include "symbols/heap/live_set.h"

// Looks again for references to allocations that seem leaked, in forms that would cost too much, or
// be found too often, if every word were taken for one:
//   - at any byte, as in a packed struct;
//   - with a tag in the 16 highest bits, as lock-free queues have it beside an address;
//   - to the last word of an allocation, where malloc keeps the size of the one before
//   (kSharedEnd);
//   - to the end of an allocation, as an iterator, or to the word before its start.
namespace heapattach::heap {

// The objects that are alive without them. Borrows everything.
struct SeenAlive {
  const Heap& heap;
  std::span<const RootWords> roots;
  std::function<bool(ObjectRef)> is_live;
  std::function<void(std::span<const ObjectRef>)>
      trace;  // makes them alive, and what they reference
  unsigned workers = 1;
};

// Makes the objects alive that are referenced in this way from what is alive, until there are no
// more. Returns the references.
std::vector<OddReference> look_again(const SeenAlive& seen);

}  // namespace heapattach::heap
