#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/process/thread_activity.h"
#include "report/collect/hold.h"
#include "report/stacks/stack_target.h"
#include "symbols/heap/blocks.h"
#include "symbols/ruby/threads.h"

namespace heapattach::stacks {

// The data copied from a target while it was stopped.
struct HeldStacks : snapshot::Holding {
  explicit HeldStacks(Arena arena) : capture(std::move(arena)) {}

  Capture
      capture;  // stacks in use, and the start of each object that their innermost frames reference
  MemoryMap map;
  heap::BlockIndex index;
  std::vector<crystal::FiberStack> fibers;
  std::optional<Result<ruby::Threads>> ruby;  // none: it is not Ruby
  std::vector<ThreadActivity>
      before;  // the kernel's data about the threads before and after the freeze,
  std::vector<ThreadActivity> after;  // far enough apart to show how much they run
  std::set<pid_t> busy;  // threads that ran, or waited for a processor, at every check in between
};

// The start of the heap object that `word` points into.
struct HeapObject {
  RemoteAddr start;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::optional<HeapObject> object_around(const heap::BlockIndex& index,
                                                      std::uint64_t word);
// For one of many words, each near the last one: `hint`, 0 at first, keeps the place.
[[nodiscard]] std::optional<HeapObject> object_around(const heap::BlockIndex& index,
                                                      std::uint64_t word,
                                                      std::size_t& hint);

// How many bytes of each object are copied.
inline constexpr std::uint64_t kHeadBytes = 384;
// The part of a stack that is searched for references from its innermost frames.
inline constexpr std::uint64_t kTopBytes = 3072;

// The ranges sorted, merged and extended to whole words.
[[nodiscard]] std::vector<Range> merged(std::vector<Range> ranges);
// The part of `ranges` that is not in `without`; both sorted and disjoint.
[[nodiscard]] std::vector<Range> less(const std::vector<Range>& ranges,
                                      const std::vector<Range>& without);

// Stops the target, copies the data, and releases it. A core file need not be stopped.
Result<std::unique_ptr<HeldStacks>> hold_stacks(const StackTarget& target, const Request& request);

}  // namespace heapattach::stacks
