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
  bool has_long_hash = false;  // it combines three parts of the thread pointer, not two
  // Offsets in a record: of the thread pointer; of the address of the part that has the end of the
  // stack, or 0 if the record itself has it; and, in that part or record, of the end.
  std::uint64_t id_at = 0;
  std::uint64_t part_at = 0;
  std::uint64_t end_at = 0;

  // The list that has the thread's record, if any.
  [[nodiscard]] RemoteAddr list_of(std::uint64_t thread) const;
};

// Finds the table in the data around the collector's variable at `data`, by the records of at least
// one of `threads`. It counts only if each of its lists has only records of threads that belong
// there. The search ends after a hundred thousand reads.
std::optional<ThreadTable> find_thread_table(const MemoryReader& memory,
                                             const MemoryMap& map,
                                             RemoteAddr data,
                                             const std::set<std::uint64_t>& threads,
                                             std::span<const ThreadRecordForm> forms);

}  // namespace heapattach::trace
