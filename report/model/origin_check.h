#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach::snapshot {

// A snapshot with the name that its reader knows: a file, "process 4711".
struct NamedSnapshot {
  std::string name;
  const Snapshot* snapshot = nullptr;
};

// Warnings before snapshots are compared.
struct OriginCheck {
  bool is_same_process = true;       // all are from one process: an address means the same in each
  std::vector<std::string> remarks;  // one sentence for each thing that could mislead a reader
};

// Checks the headers of snapshots, given in the expected order of time: other programs, builds or
// processes, times that run backwards, missing parts.
[[nodiscard]] OriginCheck check_origins(std::span<const NamedSnapshot> snapshots);

}  // namespace heapattach::snapshot
