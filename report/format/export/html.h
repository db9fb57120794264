#pragma once

#include "report/format/export/exporters.h"
#include "report/format/write/growth_formats.h"

namespace heapattach {

// Writes the page of a snapshot, like write_html(), and adds its growth: `growth` compares earlier
// snapshots with this one and has the rows to show.
Result<void> write_html_of_growth(const snapshot::Snapshot& snapshot,
                                  const GrowthReport& growth,
                                  Sink& sink,
                                  const ExportOptions& options);

}  // namespace heapattach
