#pragma once

#include <string>
#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/ways.h"
#include "report/analyze/why.h"
#include "report/format/write/json_record.h"
#include "report/format/write/table.h"
#include "report/model/model.h"

// Ways and chains of dominators, as the reports that have some show them.
namespace heapattach {

// A line each for the root and the objects that it leads to, indented. Of very long ways the
// beginning and the end; links of a list that repeat stand once, with how many more there are.
[[nodiscard]] std::string way_text(const snapshot::Snapshot& snapshot,
                                   std::uint32_t root,
                                   const analyze::Way& way,
                                   analyze::EdgeNames& names,
                                   const Look& look);

// The same without the root: the objects behind the first, which is told already.
[[nodiscard]] std::string steps_text(const snapshot::Snapshot& snapshot,
                                     const analyze::Way& way,
                                     analyze::EdgeNames& names,
                                     const Look& look);

// A line each for the innermost of them, with what they retain.
[[nodiscard]] std::string dominators_text(const snapshot::Snapshot& snapshot,
                                          const std::vector<analyze::Dominator>& dominators,
                                          const Look& look);

// "0x7f12a0 Session", safe to show.
[[nodiscard]] std::string object_text(const snapshot::Snapshot& snapshot,
                                      snapshot::ObjectIndex object);

// "1 object", "2 objects".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view thing);

// Adds "root", "path" and "dominators" to a record. Nothing is left out of them.
void add_way(const snapshot::Snapshot& snapshot,
             std::uint32_t root,
             const analyze::Way& way,
             analyze::EdgeNames& names,
             JsonRecord& record);
void add_dominators(const snapshot::Snapshot& snapshot,
                    const std::vector<analyze::Dominator>& dominators,
                    JsonRecord& record);

}  // namespace heapattach
