#pragma once

#include <string>

#include <sys/types.h>

#include "report/collect/memory_account.h"
#include "report/format/write/table.h"

// Formats the memory of a process by use.
namespace heapattach {

struct SummaryReport {
  pid_t pid = 0;
  std::string exe;
  Attributes resource;  // as in the header of a snapshot
  std::string captured;
  snapshot::MemorySummary summary;
  std::string tip;        // how to see more, for people; may be empty
  std::string no_memory;  // why `summary` has no memory, if it has none
  std::string no_heap;    // why no heap was read; empty: one was
  bool complete = true;
  std::string reason;  // why it is partial
};

[[nodiscard]] std::string format_summary_table(const SummaryReport& report, const TextStyle& style);
[[nodiscard]] std::string format_summary_json(const SummaryReport& report);

}  // namespace heapattach
