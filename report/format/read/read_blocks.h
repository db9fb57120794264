#pragma once

#include <functional>

#include "report/format/read/json_lines.h"
#include "report/format/read/line_source.h"

namespace heapattach::read {

// Reads all blocks of a file on `workers` cores. `work(worker, block)` reads one; after it has
// returned false for one, no later block begins, but all earlier ones are read. Returns whether the
// file's compressed data ends early.
Result<bool> read_blocks(TextFile file,
                         const ReadOptions& options,
                         unsigned workers,
                         const std::function<bool(unsigned worker, const LineBlock& block)>& work);

}  // namespace heapattach::read
