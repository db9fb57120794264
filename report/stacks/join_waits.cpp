#include "report/stacks/join_waits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attach/base/word.h"
#include "report/collect/held_heap.h"
#include "report/stacks/awaited_objects.h"
#include "report/stacks/mono_threads.h"
#include "report/stacks/needed_memory.h"
#include "report/stacks/scene.h"
#include "report/stacks/stuck_fibers.h"
#include "report/stacks/thread_load.h"

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
          .index = held.index(),
          .fibers = held.fibers,
          .threads = held.freeze.threads,
          .monotonic = held.monotonic,
          .stacks = stacks,
          .mono = target.runtimes.mono ? &*target.runtimes.mono : nullptr};
}

// Whether only somebody with a reference to the awaited object can wake the fiber. The main fiber
// may wait for a channel of its own, instead of sleeping for ever, so that the program does not
// end.
bool waits_for_object(const snapshot::Fiber& fiber) {
  const FiberWait& wait = fiber.wait;
  const bool has_limit = wait.left || wait.may_have_limit;
  const bool is_explained = fiber.is_of_runtime || fiber.name == "main" || fiber.finding;
  if (is_explained || fiber.thread || has_limit) return false;
  switch (wait.kind) {
    case WaitKind::Receive:
    case WaitKind::Send:
    case WaitKind::Channel:
    case WaitKind::Condition:
    case WaitKind::WaitGroup: return wait.object.value != 0;
    default: return false;
  }
}

bool is_code(const Modules& modules, std::uint64_t word) {
  const Module* const module = modules.find(RemoteAddr{word});
  if (module == nullptr) return false;
  const auto segments = module->segments();
  return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
    return segment.executable && segment.range.contains(RemoteAddr{word});
  });
}

// The word of a Fiber that references what its block has captured: it follows the only word that is
// code in every Fiber. None if there are several, or none.
std::optional<std::uint32_t> block_word(const snapshot::Target& target,
                                        const snapshot::HeldHeap& held) {
  constexpr std::size_t kLooked = 64;
  const auto end = static_cast<std::uint32_t>(target.fibers.object_bytes / kWordBytes);
  std::vector<std::uint32_t> found;
  for (std::uint32_t word = 1; word + 1 < end; ++word) {
    const auto has_code = [&](const crystal::FiberStack& fiber) {
      const auto value = held.capture.read_as<std::uint64_t>(fiber.object + word * kWordBytes);
      return value && is_code(target.modules, *value);
    };
    const auto fibers = std::span(held.fibers).first(std::min(held.fibers.size(), kLooked));
    if (std::all_of(fibers.begin(), fibers.end(), has_code)) found.push_back(word + 1);
  }
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

}  // namespace

std::vector<Range> WaitJoiner::needs(const snapshot::Target& target,
                                     const snapshot::HeldHeap& held,
                                     std::span<const FrozenThread> threads) const {
  std::vector<Range> ranges = memory_of_calls(threads, target.modules);
  if (target.runtimes.mono) {
    const auto more = memory_of_mono(*target.runtimes.mono, threads, target.modules, target.memory);
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  FiberWords words =
      words_of(held.fibers, target.fibers.object_bytes, held.index(), held.map, held.capture);
  ranges.insert(ranges.end(), words.timers.begin(), words.timers.end());
  return ranges;
}

void WaitJoiner::join(const snapshot::Target& target,
                      const snapshot::HeldHeap& held,
                      const unwind::Stacks& stacks,
                      snapshot::Snapshot& snapshot) const {
  // Words that were read while the target ran may be from several moments, and prove nothing.
  if (!held.is_held) return;
  Scene scene = scene_of(target, held, stacks);
  // The threads' numbers in the target's own pid namespace, by which a mutex names its owner.
  std::vector<ThreadActivity> threads = before_;
  ObservedLoad load;
  if (target.process && !before_.empty()) {
    load = observe_load(*target.process, before_, held.freeze.threads);
    scene.after = load.after;
    scene.busy = &load.busy;
    scene.pause = held.freeze.pause;
  } else if (target.process) {
    if (auto seen = observe_activity(*target.process)) threads = std::move(*seen);
  }
  scene.before = threads;
  StackReport report = report_on(scene);
  if (on_report_) on_report_(report);
  snapshot.header.findings = texts_of(report.findings);
  snapshot.header.remarks = texts_of(report.remarks);
  for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
    snapshot.threads[i] = static_cast<snapshot::Thread&&>(report.threads.at(i));
    snapshot.threads[i].stack.reset();  // one of the report's
  }
  for (std::size_t i = 0; i < snapshot.fibers.size(); ++i) {
    snapshot.fibers[i] = static_cast<snapshot::Fiber&&>(report.fibers.at(i));
  }
}

void WaitJoiner::join_objects(const snapshot::Target& target,
                              const snapshot::HeldHeap& held,
                              snapshot::Snapshot& snapshot) const {
  if (!held.is_held || !snapshot.complete) return;
  const AwaitedObjects objects(held.index(), held.capture, target.classes, held.fibers);
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < snapshot.fibers.size(); ++i) {
    const snapshot::Fiber& fiber = snapshot.fibers[i];
    if (!waits_for_object(fiber)) continue;
    // If the object lists the fiber, the fiber waits for it.
    const auto found = objects.listing(held.fibers[i].stack, held.fibers[i].object);
    if (found && found->object.start == fiber.wait.object) waiting.push_back(i);
  }
  add_stuck_fibers(snapshot, stuck_fibers(snapshot, waiting, block_word(target, held)));
}

}  // namespace heapattach::stacks
