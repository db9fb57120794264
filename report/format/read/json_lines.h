#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "attach/result.h"
#include "report/deadline.h"
#include "report/format/read/line_source.h"
#include "report/model/model.h"

// Reads a snapshot of write/json_lines.h, plain or in gzip, into the same model that a live process
// gives. Writing it again gives the same bytes.
//
// - Unknown records and keys are skipped, but must be JSON. Blank lines are ignored.
// - The header comes first and the end record last; objects come in address order, each once.
//   Everything else may be in any order. The counts of the end record must be right.
// - A file that ends early, in the middle of a line or of its compressed data, is a partial
//   snapshot, as is one that is marked so: edges to missing objects are dropped.
// - Any other mistake refuses the file: Malformed, with its line. A file that is not a snapshot, or
//   has a later version, is Unsupported.
//
// The file is streamed in blocks of whole lines, each read by one worker into a Piece; names are
// numbered per worker. Then the pieces are joined: names become those of the whole file, and
// addresses become objects through their pages. Rejected: mapping the file (it may shrink while it
// is read, and then reading is a SIGBUS), a parser that builds a tree for each line (half the speed
// at best), and a hash of all addresses (24 bytes per object, and one more cache miss per edge).
namespace heapattach::read {

struct ReadOptions {
  bool with_edges = true;
  std::size_t block_bytes = std::size_t{4} << 20;  // of lines that a worker reads at a time
  Deadline deadline;
  // Called for each step with its reason, for -v. May be empty.
  std::function<void(std::string_view)> note;
};

Result<snapshot::Snapshot> read_json_lines(const std::string& file, const ReadOptions& options);
// The same for an open file, of which nothing was read.
Result<snapshot::Snapshot> read_json_lines(TextFile file, const ReadOptions& options);

}  // namespace heapattach::read
