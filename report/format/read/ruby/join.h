#pragma once

#include <cstdint>
#include <string>

#include "report/format/read/ruby/names.h"
#include "report/format/read/ruby/pieces.h"
#include "report/model/model.h"

namespace heapattach::ruby {

struct Joined {
  std::string wrong;                  // empty: it is in order
  std::size_t piece = 0;              // where
  std::size_t line = 0;               // of the piece
  std::uint64_t references = 0;       // of objects
  std::uint64_t missing = 0;          // of these: to objects that are not there
  std::uint64_t root_references = 0;  // of roots
  std::uint64_t missing_roots = 0;    // of these: to such objects
};

// Fills the types, sizes, objects, values, edges and roots of `snapshot`. Consumes the pieces'
// edges.
Joined join(RubyPieces& pieces, const Names& names, bool with_edges, snapshot::Snapshot& snapshot);

}  // namespace heapattach::ruby
