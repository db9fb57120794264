#pragma once

#include <cstdint>
#include <string>

#include "report/format/read/read_pieces.h"
#include "report/model/model.h"

namespace heapattach::read {

struct ObjectsJoined {
  std::string wrong;  // empty: nothing
  std::size_t piece = 0;
  std::size_t line = 0;       // within the piece
  std::uint64_t dropped = 0;  // edges and roots that lead to what is not there, if it is partial
};

// Fills the objects, edges, values, roots and remaining types of `snapshot`, whose `complete` is
// known, and gives up what the pieces hold of objects and edges on the way.
[[nodiscard]] ObjectsJoined join_objects(Pieces& pieces,
                                         bool with_edges,
                                         snapshot::Snapshot& snapshot);

}  // namespace heapattach::read
