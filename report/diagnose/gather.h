#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/collect/memory_account.h"
#include "report/diagnose/evidence.h"
#include "report/model/model.h"

// Turns what was taken from a process or read from a file into evidence.
namespace heapattach::diagnose {

// Adds what a heap shows: its account, leaks if they can be judged, and what keeps most of it.
// `evidence.facts`, if known, must be there already.
void add_heap(const snapshot::Snapshot& snapshot, Evidence& evidence);

// Adds strings with the same text, if the snapshot has texts.
void add_repeated(const snapshot::Snapshot& snapshot, Evidence& evidence);

// The evidence that a new snapshot has: its stacks, and the limits of the process. Leaks
// are not proven without a look at what the kernel and shared memory may reference.
[[nodiscard]] Evidence proven_by(const snapshot::Snapshot& snapshot,
                                 std::optional<ProcessFacts> facts = {});

// The bytes of allocations without any reference, if they are so many that they may be a leak.
[[nodiscard]] std::optional<std::uint64_t> possibly_leaked(const snapshot::Snapshot& snapshot);

// Adds the difference to an earlier snapshot, which was read from `file`.
void add_growth(const snapshot::Snapshot& baseline,
                const std::string& file,
                const snapshot::Snapshot& snapshot,
                Evidence& evidence);

// Adds the resident memory by use, and the files that have most of it.
void add_memory(const snapshot::SeenMemory& seen, Evidence& evidence);

}  // namespace heapattach::diagnose
