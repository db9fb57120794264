#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "inject/trace/hooks.h"

namespace heapattach::trace {

// The collector's table of threads (GC_threads): lists of records, by a hash of the thread pointer.
struct ThreadTable {
  RemoteAddr at;
  bool has_long_hash = false;  // the hash combines three parts of the thread pointer, not two
  // Offsets in a record. `id_at` is that of the thread pointer, `part_at` that of the address of
  // the part with the end of the stack, or 0 if the record itself has the end. `end_at` is the
  // offset of the end in that part or record.
  std::uint64_t id_at = 0;
  std::uint64_t part_at = 0;
  std::uint64_t end_at = 0;

  // The address of the list in which the thread's record is, if there is one.
  [[nodiscard]] RemoteAddr list_of(std::uint64_t thread) const;
};

// Finds the table in the data around the collector's variable at `data`, by the record of one of
// `threads`. Accepts a table only if each of its lists has only records of threads that belong
// there. The search ends after a hundred thousand reads.
std::optional<ThreadTable> find_thread_table(const MemoryReader& memory,
                                             const MemoryMap& map,
                                             RemoteAddr data,
                                             const std::set<std::uint64_t>& threads,
                                             std::span<const ThreadRecordForm> forms);

}  // namespace heapattach::trace
