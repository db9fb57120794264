#pragma once

#include <string>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/format/read/collector_dump.h"
#include "report/model/model.h"

namespace heapattach::read {

struct DumpOptions {
  std::string type_info;  // a file with type names; empty: none, so all types are unknown
  Deadline deadline{};
  bool with_edges = true;
  bool with_texts = false;  // of strings, in full, if the dump has contents
};

// Converts a dump to a snapshot. All objects of the dump count as alive. There are no roots,
// threads or collector counters, because a dump has none.
Result<snapshot::Snapshot> join_dump(const CollectorDump& dump, const DumpOptions& options);

}  // namespace heapattach::read
