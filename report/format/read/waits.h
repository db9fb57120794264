#pragma once

#include <string_view>
#include <vector>

#include "report/format/read/piece.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

// The value of `key` in the record of a thread or fiber, which is one of write/json_waits.h or of
// none that is known.
bool read_wait(JsonCursor& json, std::string_view key, RawThread& out);
bool read_wait(JsonCursor& json, std::string_view key, RawFiber& out);

// What the records of a snapshot mention, in the order of its threads and fibers.
struct AllMentions {
  std::vector<ThreadMentions> threads;
  std::vector<FiberMentions> fibers;
};

// Replaces the numbers and addresses by which records mention threads and fibers. One that is not
// in the snapshot is left out, as is a finding.
void resolve_mentions(const AllMentions& mentions, snapshot::Snapshot& snapshot);

}  // namespace heapattach::read
