#pragma once

#include "report/format/export/exporters.h"
#include "report/format/write/growth_formats.h"
#include "report/trace/sites.h"

namespace heapattach {

// Writes the page of a snapshot, like write_html(), and adds its growth: `growth` compares earlier
// snapshots with this one and has the rows to show.
Result<void> write_html_of_growth(const snapshot::Snapshot& snapshot,
                                  const GrowthReport& growth,
                                  Sink& sink,
                                  const ExportOptions& options);

// Writes the page of a snapshot, and adds a trace of the same process that ended at about its time,
// with the sites that `choice` has.
Result<void> write_html_with_trace(const snapshot::Snapshot& snapshot,
                                   const trace::Trace& trace,
                                   const trace::SiteChoice& choice,
                                   Sink& sink,
                                   const ExportOptions& options);

}  // namespace heapattach
