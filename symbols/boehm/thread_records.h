#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/arch/processors.h"
#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/heap/heap.h"
#include "symbols/heap/root_range.h"

namespace heapattach::boehm {

// The collector's record of one thread (GC_Thread_Rep, pthread_support.h).
struct ThreadRecord {
  // A part of a stack started by GC_call_with_gc_active. The collector scans from the hot end to
  // `at`, and continues from `saved`, where the surrounding blocking call started.
  struct Section {
    RemoteAddr at;
    RemoteAddr saved;
  };

  pid_t thread = 0;
  RemoteAddr at;
  std::optional<RemoteAddr> stack_end = std::nullopt;  // cold end of the stack that it runs on
  std::vector<Range> list_heads = {};  // words that point to thread-local free lists
  bool is_understood = false;          // its form is known, so the following fields are valid
  bool has_own_end = true;  // otherwise it is the first thread, and GC_stackbottom contains the end
  // Inside GC_do_blocking, the collector starts scanning here instead of at the stack pointer, and
  // skips the registers.
  std::optional<RemoteAddr> blocked_at = std::nullopt;
  std::optional<Range> alternate_stack = std::nullopt;  // as registered
  std::vector<Section> sections = {};                   // the hottest first
  std::vector<RemoteAddr> objects = {};  // the collector's objects that make up the record
};

// Finds records by content, because their form differs between releases: in the collector's own
// data (the first thread's record) and in the objects that it references. A record contains the
// thread's pthread_t. If one of the known forms fits, all records have that form and set
// `is_understood`; otherwise, anything that looks like a record counts. Threads that the collector
// does not know, or has seen exit, have no record.
std::vector<ThreadRecord> find_thread_records(const heap::Heap& heap,
                                              const Capture& capture,
                                              std::span<const Range> collector_data,
                                              std::span<const FrozenThread> threads,
                                              const MemoryMap& map,
                                              std::uint16_t machine = kOwnProcessor);

// The end of the first thread's stack (one of `roots`) if there is no symbol for GC_stackbottom:
// the highest address in the collector's data, outside its tables (`excluded`), that is above the
// stack pointer and before the next part of the heap. None if there is none.
std::optional<RemoteAddr> likely_stack_bottom(const heap::Heap& heap,
                                              const Capture& capture,
                                              std::span<const Range> collector_data,
                                              std::span<const Range> excluded,
                                              const heap::RootRange& stack);

// The result of scan_stacks(): the parts of the threads' stacks that the collector scans.
struct ScannedStacks {
  std::vector<heap::RootRange> ranges;  // the ranges of `roots`, with stacks cut as described below
  std::vector<pid_t> with_registers;    // threads whose registers count
  std::vector<std::string> problems;    // threads whose stacks are not where they should be
};

// Cuts the stacks among `roots`, which extend from a thread's stack pointer to the end of its
// mapping, according to the threads' records. The scanned part starts at the stack pointer, or
// where a blocked thread's call started, may have several sections, and ends where the record says.
// For the first thread (`pid`, or the one whose stack contains `stack_bottom`) the end is
// `stack_bottom`. The stack of a fiber that a thread runs ends where the fiber's does.
//
// A stack without a record is dropped, because the collector does not scan it either (its own
// marker threads among them). But if no thread has a record, we cannot recognise this build's
// records, and keep all stacks. If a record has an impossible end, the thread's stack is kept whole
// and reported as a problem.
ScannedStacks scan_stacks(std::span<const heap::RootRange> roots,
                          std::span<const ThreadRecord> records,
                          std::optional<RemoteAddr> stack_bottom,
                          pid_t pid);

}  // namespace heapattach::boehm
