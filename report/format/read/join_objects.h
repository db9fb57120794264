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
  std::uint64_t dropped = 0;  // edges and roots to missing objects, if the file is partial
};

// Fills the objects, edges, values, roots and remaining types of `snapshot`, whose `complete` is
// already set. Frees the objects and edges of the pieces as it goes.
[[nodiscard]] ObjectsJoined join_objects(Pieces& pieces,
                                         bool with_edges,
                                         snapshot::Snapshot& snapshot);

}  // namespace heapattach::read
