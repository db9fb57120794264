#pragma once

#include <deque>
#include <vector>

#include "report/format/read/json_lines.h"
#include "report/format/read/line_source.h"
#include "report/format/read/piece.h"

namespace heapattach::read {

// The pieces of a file, in order. Each borrows one of the tables.
struct Pieces {
  std::vector<Piece> all;
  std::deque<NameTables> names;  // one per worker
  bool is_cut = false;           // its compressed data ends early
};

// Reads all blocks on all cores. Stops after a malformed line; its piece has the error.
Result<Pieces> read_pieces(TextFile file, const ReadOptions& options);

}  // namespace heapattach::read
