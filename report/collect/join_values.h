#pragma once

#include <cstddef>

#include "report/collect/join.h"

namespace heapattach::snapshot {

inline constexpr std::size_t kMostValueBytes = 4096;  // that may be asked for, of one text

// Fills Snapshot::values: of what is text, up to `limit` bytes, cut between two characters: Strings
// of Crystal, the contents of std::string and of char buffers; of typed objects the numbers, names
// of enumerations and symbols of their first fields, and of what has one field alone, its value.
// Only for who asks for it: a heap holds secrets.
void join_values(const JoinSources& from, std::size_t limit, Snapshot& snapshot);

// The same of texts alone, each in full.
void join_texts(const JoinSources& from, Snapshot& snapshot);

}  // namespace heapattach::snapshot
