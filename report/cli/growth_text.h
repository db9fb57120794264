#pragma once

#include <span>
#include <string>

#include "report/cli/options.h"
#include "report/format/write/growth_formats.h"

namespace heapattach {

// Adds retained bytes and the holders of new objects if the compared snapshots (in order) have the
// data, otherwise a remark. The last snapshot must outlive the report. `known_new` is as for
// find_growth_holders().
void add_holders(std::span<const snapshot::Snapshot* const> snapshots,
                 snapshot::CountBy by,
                 GrowthReport& report,
                 const std::vector<bool>& known_new = {});

// The report in the chosen format, with the chosen rows; on a terminal, at most a screenful, unless
// a number was chosen.
[[nodiscard]] std::string growth_text(const Options& options,
                                      snapshot::RowChoice choice,
                                      GrowthReport report);

}  // namespace heapattach
