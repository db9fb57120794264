#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/capture.h"
#include "attach/freeze.h"
#include "attach/thread_activity.h"
#include "report/stacks/stack_target.h"
#include "symbols/boehm/blocks.h"
#include "symbols/ruby/threads.h"

namespace heapattach::stacks {

// What was copied of a target while it was stopped.
struct HeldStacks {
  explicit HeldStacks(Arena arena) : capture(std::move(arena)) {}

  Capture capture;  // stacks in use, and the beginnings of the objects that their innermost frames
                    // reference
  MemoryMap map;
  boehm::BlockIndex index;
  std::vector<crystal::FiberStack> fibers;
  std::optional<Result<std::vector<ruby::Thread>>> ruby;  // none: it is not Ruby
  FreezeReport freeze;
  // The time of the target's timers at the freeze; a core file does not have it.
  std::optional<std::chrono::nanoseconds> monotonic;
  std::vector<ThreadActivity> before;  // the kernel's view of the threads, before and after,
  std::vector<ThreadActivity> after;   // long enough apart to show how much they run
  std::set<pid_t> busy;                // ran, or waited for a processor, at every check in between
};

// Of one thread; null if it was not there.
[[nodiscard]] const ThreadActivity* activity_of(std::span<const ThreadActivity> all, pid_t tid);

// The beginning of the object of the heap that `word` points into.
struct HeapObject {
  RemoteAddr start;
  std::uint64_t bytes = 0;
};
[[nodiscard]] std::optional<HeapObject> object_around(const boehm::BlockIndex& index,
                                                      std::uint64_t word);

// How much of an object's beginning is copied.
inline constexpr std::uint64_t kHeadBytes = 384;
// How much of a stack is searched for references from its innermost frames.
inline constexpr std::uint64_t kTopBytes = 3072;

// Sorted, disjoint and joined; whole words.
[[nodiscard]] std::vector<Range> merged(std::vector<Range> ranges);
// The part of `ranges` that is not in `without`; both sorted and disjoint.
[[nodiscard]] std::vector<Range> less(const std::vector<Range>& ranges,
                                      const std::vector<Range>& without);

// Stops the target, copies, and releases it. A core file needs no stop.
Result<std::unique_ptr<HeldStacks>> hold_stacks(const StackTarget& target,
                                                const StackOptions& options);

}  // namespace heapattach::stacks
