#pragma once

#include <cstddef>

#include "report/collect/join.h"

namespace heapattach::snapshot {

inline constexpr std::size_t kMostValueBytes = 4096;  // the upper limit for one text

// Fills Snapshot::values. Stores up to `limit` bytes of each text, cut between two characters: of
// Crystal Strings, and of the contents of std::string and of char buffers. For typed objects,
// stores the numbers, enumerators and symbols in their first fields; for an object with a single
// field, its value. Call this only on request, because a heap contains secrets.
void join_values(const JoinSources& from, std::size_t limit, Snapshot& snapshot);

// Stores only texts, up to `limit` bytes of each.
void join_texts(const JoinSources& from, std::size_t limit, Snapshot& snapshot);

}  // namespace heapattach::snapshot
