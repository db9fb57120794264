#pragma once

#include <string>
#include <vector>

#include "report/format/export/export_options.h"
#include "report/trace/sites.h"

// Writes traces in the formats of other tools, each explained in its source file. Each sample is
// scaled to the number of allocations that it represents, except in alys, which contains the events
// themselves.
namespace heapattach {

struct TraceExportOptions {
  ExportOptions stream;
  trace::FrameChoice frames;
  std::vector<std::string> types;  // globs; empty: all
  // The value shown by formats with only one; the default value in formats with all four.
  trace::Value value = trace::Value::AllocSpace;
};

}  // namespace heapattach
