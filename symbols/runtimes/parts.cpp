#include "symbols/runtimes/parts.h"

#include <string>

namespace heapattach::runtimes {

bool Parts::claim(const Part& part, ShapeNumber instead_of) {
  const auto ref = view_.object_at(part.at);
  const heap::Heap& heap = view_.heap();
  if (!ref || heap.blocks()[ref->block].object_bytes < part.bytes) return false;
  const ShapeNumber now = names_.at(heap.number(*ref));
  if (now != ObjectNames::kNone && now != instead_of) return false;
  names_.set(heap.number(*ref), part.shape);
  claimed_.push_back(*ref);
  return true;
}

void Parts::name_memory() {
  const heap::Heap& heap = view_.heap();
  while (!claimed_.empty()) {
    const heap::ObjectRef from = claimed_.back();
    claimed_.pop_back();
    const std::string holder = names_.shapes()[names_.at(heap.number(from))].holder;
    heap.for_each_edge(from, [&](std::uint64_t, heap::ObjectRef to) {
      const std::uint64_t number = heap.number(to);
      if (!view_.listed().contains(number) || names_.has(number)) return;
      names_.set(number, names_.intern(part_of(holder, "memory")));
      claimed_.push_back(to);
    });
  }
}

}  // namespace heapattach::runtimes
