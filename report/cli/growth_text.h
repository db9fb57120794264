#pragma once

#include <span>
#include <string>

#include "report/cli/options.h"
#include "report/format/write/growth_formats.h"

namespace heapattach {

// Adds retained bytes and the holders of new objects, as far as the compared snapshots, in their
// order, have the data; missing data becomes a remark. The last must outlive the report.
void add_holders(std::span<const snapshot::Snapshot* const> snapshots,
                 snapshot::CountBy by,
                 GrowthReport& report);

// The report in the format of the options, with the chosen rows; on a terminal at most a screenful,
// unless the choice has a number.
[[nodiscard]] std::string growth_text(const Options& options,
                                      snapshot::RowChoice choice,
                                      GrowthReport report);

}  // namespace heapattach
