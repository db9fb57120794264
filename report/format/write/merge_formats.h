#pragma once

#include <string>

#include "report/analyze/merge.h"
#include "report/format/write/table.h"

// Formats the counts of many snapshots as one table. The text has a row for each type; CSV and TSV
// have one for each type and snapshot.
namespace heapattach {

[[nodiscard]] std::string format_merge_table(const analyze::MergedTable& table,
                                             const TextStyle& style);
[[nodiscard]] std::string format_merge_csv(const analyze::MergedTable& table);
[[nodiscard]] std::string format_merge_tsv(const analyze::MergedTable& table);
[[nodiscard]] std::string format_merge_json(const analyze::MergedTable& table);

}  // namespace heapattach
