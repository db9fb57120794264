#pragma once

#include <string>

#include "report/format/write/table.h"
#include "report/model/process_list.h"

// Formats the list of the processes that can be read.
namespace heapattach {

[[nodiscard]] std::string format_processes_table(const snapshot::ProcessList& list,
                                                 const TextStyle& style);
[[nodiscard]] std::string format_processes_json(const snapshot::ProcessList& list);

}  // namespace heapattach
