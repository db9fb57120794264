#pragma once

#include <string_view>
#include <vector>

#include "report/format/read/piece.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

// Reads the value of `key`, which is described in write/json_waits.h or unknown, in the record of a
// thread or fiber.
bool read_wait(JsonCursor& json, std::string_view key, RawThread& out);
bool read_wait(JsonCursor& json, std::string_view key, RawFiber& out);

// The mentions in all records of a snapshot, in the order of its threads and fibers.
struct AllMentions {
  std::vector<ThreadMentions> threads;
  std::vector<FiberMentions> fibers;
};

// Resolves the numbers and addresses by which records mention threads and fibers. Drops references
// to threads, fibers and findings that are not in the snapshot.
void resolve_mentions(const AllMentions& mentions, snapshot::Snapshot& snapshot);

}  // namespace heapattach::read
