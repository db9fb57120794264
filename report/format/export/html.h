#pragma once

#include <span>
#include <string>

#include "report/format/export/export_options.h"
#include "report/format/write/growth_formats.h"
#include "report/format/write/together.h"
#include "report/stacks/stack_report.h"
#include "report/trace/sites.h"

namespace heapattach {

Result<void> write_html(const snapshot::Snapshot&, Sink&, const ExportOptions&);

// Writes the page of a snapshot, like write_html(), and adds its growth: `growth` compares earlier
// snapshots with this one and has the rows to show.
Result<void> write_html_of_growth(const snapshot::Snapshot& snapshot,
                                  const GrowthReport& growth,
                                  Sink& sink,
                                  const ExportOptions& options);

// Returns the page of a report on stacks.
[[nodiscard]] std::string format_stacks_html(const stacks::StackReport& report);

// Makes one page of the pages of several processes, which begins with a list of them.
[[nodiscard]] std::string join_html(std::span<const ReportText> reports);

// Writes the page of a trace, with the sites that `choice` has. If `heap` is not null, it is that
// of the same process at about the end of the trace, and the page shows it like write_html().
Result<void> write_html_of_trace(const trace::Trace& trace,
                                 const snapshot::Snapshot* heap,
                                 const trace::SiteChoice& choice,
                                 Sink& sink,
                                 const ExportOptions& options);

}  // namespace heapattach
