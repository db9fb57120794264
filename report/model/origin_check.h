#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach::snapshot {

// A snapshot with its name for users: the name of its file, or "process 4711".
struct NamedSnapshot {
  std::string name;
  const Snapshot* snapshot = nullptr;
};

// The result of checks before snapshots are compared.
struct OriginCheck {
  bool is_same_process = true;  // all are from one process, so an address means the same in each
  std::vector<std::string> remarks;  // a sentence about each fact that could mislead a reader
};

// Checks the headers of snapshots, given in chronological order, for different programs, builds or
// processes, times in the wrong order, and missing parts.
[[nodiscard]] OriginCheck check_origins(std::span<const NamedSnapshot> snapshots);

}  // namespace heapattach::snapshot
