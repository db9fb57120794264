#pragma once

#include <map>
#include <string>

#include "report/collect/object_facts.h"

namespace heapattach::snapshot {

// Fills the types, sizes and objects of `snapshot`. Marks as unreachable the listed objects that
// are not in `live`.
void join_objects(const JoinSources& from, const heap::ObjectSet& live, Snapshot& snapshot);

// Fills the types, sizes and `alike` of `snapshot`, and so only counts the objects that are alike.
void join_counts(const JoinSources& from, const heap::ObjectSet& live, Snapshot& snapshot);

// Fills first_edge and edges. Each word of a listed object that points into a listed object makes
// an edge, unless the object's type shows that the word is not a pointer. If `of_unreachable`, only
// unreachable objects have edges.
void join_edges(const JoinSources& from, Snapshot& snapshot, bool of_unreachable = false);

// Fills `leaked_bytes` of the heaps that are not collected: the objects that are in use but not
// alive.
void join_leaked(const heap::Heap& heap,
                 const heap::ObjectSet& in_use,
                 const heap::ObjectSet& live,
                 Snapshot& snapshot);

// Gives malloc's objects without a type a row for their size, because "(48 bytes)" says more than
// "(unknown)". `guesses` has, by size, what these objects probably are. Call this last.
void name_by_size(const std::map<std::uint64_t, std::string>& guesses, Snapshot& snapshot);

}  // namespace heapattach::snapshot
