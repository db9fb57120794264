#pragma once

#include <cstdint>
#include <vector>

#include "report/model/model.h"
#include "report/typing/object_order.h"
#include "report/typing/typing.h"

namespace heapattach::snapshot {

// The sources of a snapshot's objects and edges.
struct JoinSources {
  const heap::Heap& heap;
  const ObjectOrder& order;
  const TypeRows& rows;
  const Typing& typing;
};

// Makes the objects of a snapshot, except for their addresses and kinds.
class ObjectFacts {
 public:
  // Fills the sizes of `snapshot`. Objects that are not in `live` are unreachable. Borrows `from`
  // and `live`.
  ObjectFacts(const JoinSources& from, const heap::ObjectSet& live, Snapshot& snapshot);

  [[nodiscard]] Object of(heap::ObjectRef ref) const {
    const heap::Block& block = from_.heap.blocks()[ref.block];
    Object object{};
    object.is_reachable = live_.contains(from_.heap.number(ref)) ? 1 : 0;
    object.heap = block.heap & 15;
    object.type = from_.typing.row_of(ref);
    object.size_class = class_of_[ref.block];
    return object;
  }

 private:
  const JoinSources& from_;
  const heap::ObjectSet& live_;
  std::vector<std::uint32_t> class_of_;  // by block: the size class of its objects
};

// The set of rows that have objects. Several threads may add to it at once.
class UsedRows {
 public:
  explicit UsedRows(std::size_t rows) : used_(rows) {}
  void add(TypeIndex row);
  // The types of the snapshot. A row that can only come from a reference and has no objects gets no
  // name.
  [[nodiscard]] std::vector<Type> types(const TypeRows& rows) const;

 private:
  std::vector<std::uint8_t> used_;
};

}  // namespace heapattach::snapshot
