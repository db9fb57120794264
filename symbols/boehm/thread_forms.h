#pragma once

#include <optional>
#include <span>

#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/thread_records.h"

namespace heapattach::boehm {

// The word offsets of the fields of GC_Thread_Rep in a release (pthread_support.h and
// pthread_stop_world.h, 64-bit Linux). If `context` is set, the fields from `stack_pointer` on are
// in a separate structure, to which it points.
struct RecordForm {
  const char* releases = nullptr;
  std::size_t id = 0;
  std::size_t flags = 0;
  // A mask in the word of the flags: a separate byte until 8.2, a flag since then.
  std::uint64_t blocked_mask = 0;
  std::uint64_t known_flags = 0;  // others are never set
  std::optional<std::size_t> context;
  std::size_t stack_pointer = 0;
  std::size_t stack_end = 0;
  std::optional<std::size_t> alternate_stack;  // its start, and …
  std::size_t alternate_bytes = 0;             // … its size
  std::optional<std::size_t> section;          // since GC_call_with_gc_active exists
  std::optional<std::size_t> counts;           // of finalizers, if they have a separate word
  bool is_before_7 = false;  // of a release with other headers, not to be taken for a later one
};

// All forms, the latest first.
std::span<const RecordForm> record_forms();

// Reads the record at `at` in the given form; none if it cannot be one. Sets `is_finished` for the
// record of a thread that has exited.
std::optional<ThreadRecord> read_record(const RecordForm& form,
                                        RemoteAddr at,
                                        const Capture& capture,
                                        const MemoryMap& map,
                                        bool& is_finished);

}  // namespace heapattach::boehm
