#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/count_ones.h"
#include "attach/base/flat_array.h"
#include "report/model/model.h"
#include "symbols/boehm/live.h"

namespace heapattach::snapshot {

// The order of the heap's objects that are listed in a snapshot, by address.
class ObjectOrder {
 public:
  // Borrows both.
  ObjectOrder(const boehm::Heap& heap, const boehm::ObjectSet& listed);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const boehm::ObjectSet& listed() const { return listed_; }
  // The number of listed objects before the one with this number.
  [[nodiscard]] std::uint64_t rank(std::uint64_t number) const {
    if (number / 64 >= before_.size()) return size_;
    const std::uint64_t below = (std::uint64_t{1} << (number % 64)) - 1;
    return before_[number / 64] + count_ones(listed_.words()[number / 64] & below);
  }
  // The index of an object, if it is listed.
  [[nodiscard]] std::optional<ObjectIndex> index_of(boehm::ObjectRef ref) const;
  // The same for an object that is known to be listed.
  [[nodiscard]] ObjectIndex index_of_listed(boehm::ObjectRef ref) const {
    return static_cast<ObjectIndex>(rank(heap_.number(ref)));
  }

 private:
  const boehm::Heap& heap_;
  const boehm::ObjectSet& listed_;
  // For each word of the set, the number of listed objects before it.
  FlatArray<std::uint32_t> before_;
  std::uint64_t size_ = 0;
};

// The live objects and the unreachable objects in use.
boehm::ObjectSet objects_in_use(const boehm::Heap& heap, const boehm::LiveSet& found);

}  // namespace heapattach::snapshot
