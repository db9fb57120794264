#pragma once

#include <functional>

#include "report/format/read/json_lines.h"
#include "report/format/read/line_source.h"

namespace heapattach::read {

// Reads all blocks of a file on `workers` cores. `work(worker, block)` reads one block. Once it has
// returned false, no later block is started, but all earlier ones are finished. Returns whether the
// file's compressed data ends early.
Result<bool> read_blocks(TextFile file,
                         const ReadOptions& options,
                         unsigned workers,
                         const std::function<bool(unsigned worker, const LineBlock& block)>& work);

}  // namespace heapattach::read
