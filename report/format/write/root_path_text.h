#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/why.h"
#include "report/format/write/json_record.h"
#include "report/format/write/table.h"
#include "report/model/model.h"

// Formats paths and chains of dominators for reports.
namespace heapattach {

// One indented line each for the root and the objects on the path. For very long paths, shows only
// the start and the end. Repeated links of a list appear once, with the number of further links.
[[nodiscard]] std::string root_path_text(const snapshot::Snapshot& snapshot,
                                         std::uint32_t root,
                                         const analyze::RootPath& root_path,
                                         analyze::EdgeNames& names,
                                         const TextStyle& style);

// A path without the root and the first object, which the caller has already shown.
[[nodiscard]] std::string steps_text(const snapshot::Snapshot& snapshot,
                                     const analyze::RootPath& root_path,
                                     analyze::EdgeNames& names,
                                     const TextStyle& style);

// A line each for what else holds the objects.
[[nodiscard]] std::string other_paths_text(const std::vector<analyze::OtherPath>& paths,
                                           std::uint64_t objects);

// A line each for the innermost of them, with what they retain.
[[nodiscard]] std::string dominators_text(const snapshot::Snapshot& snapshot,
                                          const std::vector<analyze::Dominator>& dominators,
                                          const TextStyle& style);

// "0x7f12a0 Session", safe to show.
[[nodiscard]] std::string object_text(const snapshot::Snapshot& snapshot,
                                      snapshot::ObjectIndex object);

// Adds "root", "path" and "dominators" to a record, in full.
void add_root_path(const snapshot::Snapshot& snapshot,
                   std::uint32_t root,
                   const analyze::RootPath& root_path,
                   analyze::EdgeNames& names,
                   JsonRecord& record);
void add_other_paths(std::string_view key,
                     const std::vector<analyze::OtherPath>& paths,
                     JsonRecord& record);
void add_dominators(const snapshot::Snapshot& snapshot,
                    const std::vector<analyze::Dominator>& dominators,
                    JsonRecord& record);

}  // namespace heapattach
