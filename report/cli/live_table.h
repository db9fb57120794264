#pragma once

#include <functional>
#include <string>

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/trace/take_trace.h"

namespace heapattach {

// Draws the first rows of a trace, of --live, below how it is going. Usage if there is no terminal.
// `options` and `console` must outlive the result.
using DrawTrace =
    std::function<void(const trace::TraceProgress&, const trace::Trace&, std::vector<trace::Cell>)>;
Result<DrawTrace> live_table(const Options& options, Console& console);

// "tracing, 12 s left: 2,470 samples, 0 lost, 17.0 MiB/s"; "tracing for 12 s: …" without an end.
[[nodiscard]] std::string words_of(const trace::TraceProgress& progress);

}  // namespace heapattach
