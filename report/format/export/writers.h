#pragma once

#include "report/format/export/exporters.h"

// The writers that the registry lists. Each is explained in its source file.
namespace heapattach {

Result<void> write_dhat(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_folded(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_gcfull(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_gcgrph(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_heapsnapshot(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_hprof(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_html(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_pprof(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_ruby(const snapshot::Snapshot&, Sink&, const ExportOptions&);
Result<void> write_svg(const snapshot::Snapshot&, Sink&, const ExportOptions&);

}  // namespace heapattach
