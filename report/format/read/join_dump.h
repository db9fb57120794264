#pragma once

#include <string>

#include "attach/result.h"
#include "report/format/read/collector_dump.h"
#include "report/model/model.h"

namespace heapattach::read {

struct DumpOptions {
  std::string type_info;  // a file with the types' names; empty: none, and all are unknown
  bool with_edges = true;
  bool with_texts = false;  // of strings, in full, if the dump has contents
};

// A dump as a snapshot. It lists all objects of the dump as alive. It has no roots, threads and
// collector counters, because the dump has none.
Result<snapshot::Snapshot> join_dump(const CollectorDump& dump, const DumpOptions& options);

}  // namespace heapattach::read
