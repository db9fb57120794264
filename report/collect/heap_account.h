#pragma once

#include <optional>
#include <vector>

#include "report/collect/memory_account.h"
#include "report/model/model.h"

namespace heapattach::snapshot {

// The accounts of the snapshot's heaps, in their order; nothing for a heap whose numbers are
// unknown.
[[nodiscard]] std::vector<std::optional<HeapAccount>> heap_accounts(const Snapshot& snapshot);

}  // namespace heapattach::snapshot
