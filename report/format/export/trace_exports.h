#pragma once

#include <string>
#include <vector>

#include "report/format/export/exporters.h"
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

Result<void> write_trace_alys(const trace::Trace&, Sink&, const TraceExportOptions&);
Result<void> write_trace_dhat(const trace::Trace&, Sink&, const TraceExportOptions&);
Result<void> write_trace_folded(const trace::Trace&, Sink&, const TraceExportOptions&);
Result<void> write_trace_pprof(const trace::Trace&, Sink&, const TraceExportOptions&);
Result<void> write_trace_speedscope(const trace::Trace&, Sink&, const TraceExportOptions&);
Result<void> write_trace_svg(const trace::Trace&, Sink&, const TraceExportOptions&);

}  // namespace heapattach
