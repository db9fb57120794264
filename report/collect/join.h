#pragma once

#include "report/model/model.h"
#include "report/typing/object_order.h"
#include "report/typing/typing.h"

namespace heapattach::snapshot {

// What a snapshot's objects and edges are made from.
struct JoinSources {
  const boehm::Heap& heap;
  const ObjectOrder& order;
  const TypeRows& rows;
  const Typing& typing;
};

// Fills types, sizes and objects of `snapshot`. What is listed but not in `live` is marked so. Of
// the rows that only a referrer can give, those that no object has stay without a name.
void join_objects(const JoinSources& from, const boehm::ObjectSet& live, Snapshot& snapshot);

// Fills first_edge and edges: each word of a listed object that points into a listed object, unless
// the object's type says that the word is no pointer.
void join_edges(const JoinSources& from, Snapshot& snapshot);

}  // namespace heapattach::snapshot
