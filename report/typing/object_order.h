#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/count_ones.h"
#include "attach/base/flat_array.h"
#include "report/model/model.h"
#include "symbols/heap/live_set.h"

namespace heapattach::snapshot {

// The order by address of those objects of the heap that a snapshot lists.
class ObjectOrder {
 public:
  // Borrows both.
  ObjectOrder(const heap::Heap& heap, const heap::ObjectSet& listed);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const heap::ObjectSet& listed() const { return listed_; }
  // The number of listed objects before the object with this number.
  [[nodiscard]] std::uint64_t rank(std::uint64_t number) const {
    if (number / 64 >= before_.size()) return size_;
    const std::uint64_t below = (std::uint64_t{1} << (number % 64)) - 1;
    return before_[number / 64] + count_ones(listed_.words()[number / 64] & below);
  }
  // The index of an object, if it is listed.
  [[nodiscard]] std::optional<ObjectIndex> index_of(heap::ObjectRef ref) const;
  // The index of an object that is known to be listed.
  [[nodiscard]] ObjectIndex index_of_listed(heap::ObjectRef ref) const {
    return static_cast<ObjectIndex>(rank(heap_.number(ref)));
  }

 private:
  const heap::Heap& heap_;
  const heap::ObjectSet& listed_;
  // For each word of the set, the number of listed objects before it.
  FlatArray<std::uint32_t> before_;
  std::uint64_t size_ = 0;
};

// The live objects and the unreachable objects in use.
heap::ObjectSet objects_in_use(const heap::Heap& heap, const heap::LiveSet& found);

}  // namespace heapattach::snapshot
