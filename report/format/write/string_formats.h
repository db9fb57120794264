#pragma once

#include <string>

#include "report/analyze/duplicates.h"
#include "report/format/write/columns.h"

// Formats duplicate strings. `shown_bytes` limits how much of each is shown.
namespace heapattach {

struct StringReport {
  std::string source;  // a file, "process 4711"
  pid_t pid = 0;
  snapshot::Duplicates found;
  std::size_t shown_bytes = 64;
  bool complete = true;
  std::string reason;  // why it is partial
};

// The rows, with the columns that strings_table.cpp declares.
[[nodiscard]] Grid string_grid(const StringReport& report);

[[nodiscard]] std::string format_strings_table(const StringReport& report, const TextStyle& style);
[[nodiscard]] std::string format_strings_json(const StringReport& report);

}  // namespace heapattach
