#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach::snapshot {

// A snapshot under the name by which its reader knows it: a file, "process 4711".
struct NamedSnapshot {
  std::string name;
  const Snapshot* snapshot = nullptr;
};

// What must be known before snapshots are compared.
struct Kinship {
  bool is_same_process = true;       // all are of one: addresses mean the same in each
  std::vector<std::string> remarks;  // what a reader would otherwise be misled by, a sentence each
};

// Looks at the headers of snapshots that were given in the order in which they should have been
// taken: other programs, builds or processes, times that run backwards, parts that are missing.
[[nodiscard]] Kinship find_kinship(std::span<const NamedSnapshot> snapshots);

}  // namespace heapattach::snapshot
