#pragma once

#include "attach/base/result.h"
#include "report/collect/take_options.h"
#include "report/model/model.h"

namespace heapattach::snapshot {

// Learns about the target while it runs, holds it while its heap is copied, releases it, and turns
// the copy into a snapshot: the objects that are alive by the collector's own rules, their types,
// and the references to them. Snapshot::complete is false if only part of the heap could be read.
Result<Snapshot> take_snapshot(const TakeOptions& options);

}  // namespace heapattach::snapshot
