#pragma once

#include <string>
#include <string_view>

#include "report/format/write/columns.h"
#include "report/model/counts.h"

// Formats a CountTable, whose columns are declared in count_table.cpp. Each function returns the
// whole text, which is small.
namespace heapattach {

// For people.
[[nodiscard]] std::string format_count_table(const snapshot::CountTable& table,
                                             const TextStyle& style);

// For programs.
[[nodiscard]] std::string format_count_tsv(const snapshot::CountTable& table);
[[nodiscard]] std::string format_count_csv(const snapshot::CountTable& table);
[[nodiscard]] std::string format_count_json(const snapshot::CountTable& table);
[[nodiscard]] std::string format_count_markdown(const snapshot::CountTable& table);
[[nodiscard]] std::string format_count_memprof(const snapshot::CountTable& table);
[[nodiscard]] std::string format_count_openmetrics(const snapshot::CountTable& table);

// The value of a label in the last of these: safe to show, and escaped.
[[nodiscard]] std::string metric_label(std::string_view text);

// The rows, with all columns.
[[nodiscard]] Grid count_grid(const snapshot::CountTable& table);

// A row's type, safe to show, for formats without a column for reachability. Types of unreachable
// objects are marked.
[[nodiscard]] std::string full_type(const snapshot::CountRow& row);

}  // namespace heapattach
