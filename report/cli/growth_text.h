#pragma once

#include <span>
#include <string>

#include "report/cli/options.h"
#include "report/format/write/growth_formats.h"

namespace heapattach {

// Adds what is retained and what holds what is new, as far as the snapshots that it compares, in
// their order, say so; what they do not say becomes a remark. The last must outlive the report.
void add_holders(std::span<const snapshot::Snapshot* const> snapshots,
                 snapshot::CountBy by,
                 GrowthReport& report);

// The report in the format of the options, with the rows chosen; on a terminal no more of them than
// a screen holds, unless the choice has a number.
[[nodiscard]] std::string growth_text(const Options& options,
                                      snapshot::RowChoice choice,
                                      GrowthReport report);

}  // namespace heapattach
