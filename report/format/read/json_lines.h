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
// gives; writing it again gives the same bytes.
//
// - Records and keys that are not known are passed over, but must be JSON. Blank lines are nothing.
// - The header comes first and the end record last; objects come by address, each once. What else
//   there is may stand in any order. The counts of the end record must be right.
// - A file that ends early, in the middle of a line or of its compressed data, is a partial
//   snapshot, as is one that says so: edges to objects that are not in it are dropped.
// - Whatever else is wrong refuses the file: Malformed, with its line. What is no snapshot at all,
//   or one of a later version, is Unsupported.
//
// The file is streamed in blocks of whole lines, each read by one worker into a Piece; names are
// numbered per worker. Then the pieces are joined: names become those of the whole file, and
// addresses become objects by way of their pages. Rejected: mapping the file (it may shrink while
// it is read, and then reading is a SIGBUS), a parser that builds a tree for each line (half the
// speed at best), and a hash of all addresses (24 bytes an object, and a cache miss more for each
// edge).
namespace heapattach::read {

struct ReadOptions {
  bool with_edges = true;
  std::size_t block_bytes = std::size_t{4} << 20;  // of lines that a worker reads at a time
  Deadline deadline;
  // Told of each step and why, for -v. May be empty.
  std::function<void(std::string_view)> note;
};

Result<snapshot::Snapshot> read_json_lines(const std::string& file, const ReadOptions& options);
// The same of a file that is open, of which nothing was read.
Result<snapshot::Snapshot> read_json_lines(TextFile file, const ReadOptions& options);

}  // namespace heapattach::read
