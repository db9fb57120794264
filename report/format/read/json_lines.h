#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/format/read/line_source.h"
#include "report/model/model.h"

// Reads a snapshot written by write/json_lines.h, plain or gzipped, into the same model as that of
// a live process. Writing it again gives the same bytes.
//
// - Unknown records and keys are skipped, but must be JSON. Blank lines are ignored.
// - The header comes first and the end record last; objects come in address order, each once.
//   Everything else may be in any order. The counts in the end record must be correct.
// - A file that ends early, in the middle of a line or of its compressed data, is a partial
//   snapshot, as is one that is marked so: edges to missing objects are dropped.
// - Any other error makes the file Malformed, with the line number, and so does a later version.
//
// The file is streamed in blocks of whole lines, each read by one worker into a Piece, with names
// numbered per worker. Then the pieces are joined: names get numbers for the whole file, and
// addresses are resolved to objects. Rejected alternatives: mapping the file (if it shrinks while
// it is read, the result is a SIGBUS), a parser that builds a tree for each line (half the speed at
// best), and a hash table of all addresses (24 bytes per object, and one more cache miss per edge).
namespace heapattach::read {

struct ReadOptions {
  bool with_edges = true;
  std::size_t block_bytes = std::size_t{4} << 20;  // of lines that a worker reads at a time
  Deadline deadline;
  // Called for each step with its reason, for -v. May be empty.
  std::function<void(std::string_view)> note;
};

Result<snapshot::Snapshot> read_json_lines(const std::string& file, const ReadOptions& options);
// Reads an open file from which nothing has been read yet.
Result<snapshot::Snapshot> read_json_lines(TextFile file, const ReadOptions& options);

}  // namespace heapattach::read
