#include "report/stacks/join_waits.h"

#include <utility>

#include "report/collect/held_heap.h"
#include "report/stacks/needed_memory.h"
#include "report/stacks/scene.h"

namespace heapattach::stacks {

namespace {

Scene scene_of(const snapshot::Target& target,
               const snapshot::HeldHeap& held,
               const unwind::Stacks& stacks) {
  return {.process = target.process ? &*target.process : nullptr,
          .modules = target.modules,
          .memory = target.memory,
          .classes = target.classes,
          .fiber_bytes = target.fibers.object_bytes,
          .capture = held.capture,
          .map = held.map,
          .index = held.index,
          .fibers = held.fibers,
          .threads = held.freeze.threads,
          .monotonic = held.monotonic,
          .stacks = stacks};
}

void join_thread(ThreadSeen&& seen, snapshot::Thread& thread) {
  thread.wait = {
      .call = std::move(seen.call), .thread = seen.waits_for, .mutex = std::move(seen.awaited)};
  thread.function = std::move(seen.function);
  thread.fiber = seen.fiber;
  thread.is_idle = seen.is_idle;
  thread.finding = seen.finding;
}

void join_fiber(FiberSeen&& seen, snapshot::Fiber& fiber) {
  fiber.wait = std::move(seen.wait);
  fiber.function = std::move(seen.function);
  fiber.context = std::move(seen.context);
  fiber.is_of_runtime = seen.is_of_runtime;
  fiber.thread = seen.thread;
  fiber.of_thread = std::move(seen.of_thread);
  fiber.finding = seen.finding;
}

}  // namespace

std::vector<Range> WaitJoiner::needs(const snapshot::Target& target,
                                     const snapshot::HeldHeap& held,
                                     std::span<const FrozenThread> threads) const {
  std::vector<Range> ranges = memory_of_calls(threads, target.modules);
  FiberWords words =
      words_of(held.fibers, target.fibers.object_bytes, held.index, held.map, held.capture);
  ranges.insert(ranges.end(), words.timers.begin(), words.timers.end());
  return ranges;
}

void WaitJoiner::join(const snapshot::Target& target,
                      const snapshot::HeldHeap& held,
                      const unwind::Stacks& stacks,
                      snapshot::Snapshot& snapshot) const {
  // What was read while the target ran may be of several moments, and proves nothing.
  if (!held.is_held) return;
  Scene scene = scene_of(target, held, stacks);
  // The threads' numbers in the target's own pid namespace, by which a mutex names its owner.
  std::vector<ThreadActivity> threads;
  if (target.process) {
    if (auto seen = observe_activity(*target.process)) threads = std::move(*seen);
  }
  scene.before = threads;
  StackReport report = report_on(scene);
  snapshot.header.findings = std::move(report.findings);
  snapshot.header.remarks = std::move(report.remarks);
  for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
    join_thread(std::move(report.threads.at(i)), snapshot.threads[i]);
  }
  for (std::size_t i = 0; i < snapshot.fibers.size(); ++i) {
    join_fiber(std::move(report.fibers.at(i)), snapshot.fibers[i]);
  }
}

}  // namespace heapattach::stacks
