#include "report/snapshot/held_heap.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "attach/observe.h"
#include "report/parallel.h"

namespace heapattach::snapshot {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDefaultBudget = std::chrono::milliseconds(2000);
constexpr int kAttempts = 4;
constexpr auto kBetweenAttempts = std::chrono::milliseconds(5);
constexpr std::uint64_t kMegabyte = 1U << 20;

std::uint64_t total_bytes(const std::vector<boehm::RootRange>& roots) {
  std::uint64_t sum = 0;
  for (const boehm::RootRange& root : roots) sum += root.range.bytes;
  return sum;
}

// Room for all that will be copied. Address space costs nothing, so it is generous; what is touched
// beforehand is what will surely be used.
Result<Arena> make_arena(const Target& target) {
  const boehm::Counters now = boehm::read_counters(target.collector, target.memory);
  std::uint64_t mapped = 0;
  for (const Mapping& mapping : target.map.mappings()) {
    if (mapping.writable) mapped += mapping.range.bytes;
  }
  const std::uint64_t likely =
      std::min(mapped, now.heap_bytes.value_or(0) -
                           std::min(now.heap_bytes.value_or(0), now.free_bytes.value_or(0)) +
                           total_bytes(target.module_roots));
  return Arena::reserve(mapped + mapped / 2 + 256 * kMegabyte, likely);
}

// A collector that was stopped while it grew its heap has counted what its index does not list yet.
bool is_consistent(const HeldHeap& held) {
  return held.index.skipped == 0 && unaccounted_bytes(held) == 0;
}

// One attempt at copying, while the target is held (or not, with Hold::Nothing).
class Copying {
 public:
  Copying(const Target& target, HeldHeap& held, Clock::time_point deadline)
      : target_(target), held_(held), limits_{workers_for(~std::size_t{0}), deadline} {}

  // False if the index was inconsistent and nothing was copied yet.
  Result<bool> copy(const std::vector<FrozenThread>& threads, bool accept_misfits) {
    held_.captured = std::chrono::system_clock::now();
    held_.map = HA_TRY(target_.process.maps());
    const boehm::Layout& layout = target_.collector.layout;
    held_.index = HA_TRY(boehm::read_blocks(target_.memory, held_.map, layout));
    held_.counters = boehm::read_counters(target_.collector, target_.memory);
    if (!is_consistent(held_) && !accept_misfits) return false;

    const std::vector<Range> heap = boehm::plan_copy(held_.index, layout);
    HA_TRY(held_.capture.add(target_.memory, heap, limits_));
    if (target_.runtime == "crystal") {
      held_.fibers =
          crystal::suspended_fibers(target_.fibers, held_.index, held_.capture, held_.map, threads);
    }

    held_.roots = target_.module_roots;
    const auto stacks = boehm::stack_roots(threads, held_.map);
    held_.roots.insert(held_.roots.end(), stacks.begin(), stacks.end());
    for (const crystal::FiberStack& fiber : held_.fibers) add_fiber(fiber);
    const std::vector<Range> rest =
        boehm::plan_copy(held_.roots, target_.collector_data, heap, held_.map);
    HA_TRY(held_.capture.add(target_.memory, rest, limits_));
    return true;
  }

 private:
  // A running fiber's stack is its thread's. The collector is told where it ends only when a
  // collection begins, so for all threads but the first, whose own stack may well be meant by what
  // it knows, the fiber says it.
  void add_fiber(const crystal::FiberStack& fiber) {
    if (!fiber.is_running) {
      held_.roots.push_back({boehm::RootKind::Fiber, fiber.stack, 0, fiber.object.value});
      return;
    }
    for (boehm::RootRange& root : held_.roots) {
      const bool is_its_thread =
          root.kind == boehm::RootKind::Stack && root.thread != target_.process.pid() &&
          root.range.start <= fiber.stack.start && fiber.stack.start < root.range.end();
      if (!is_its_thread) continue;
      root.kind = boehm::RootKind::Fiber;
      root.range.bytes = fiber.stack.end() - root.range.start;
      root.fiber = fiber.object.value;
    }
  }

  const Target& target_;
  HeldHeap& held_;
  CopyLimits limits_;
};

Error explain_timeout(Error error, const TakeOptions& options, std::chrono::milliseconds budget) {
  if (error.kind != ErrorKind::Timeout || options.deadline.has_passed()) return error;
  return Error{ErrorKind::Timeout,
               fmt::format("{} (the target was held for {} ms at most, and let go; --max-pause MS "
                           "allows more, --snapshot read reads without stopping it)",
                           error.message, budget.count())};
}

// True if the heap was copied, false if it should be tried again.
Result<bool> hold_once(const Target& target,
                       const TakeOptions& options,
                       bool accept_misfits,
                       HeldHeap& held) {
  if (options.hold == Hold::Nothing) {
    held.freeze.threads.clear();
    for (ObservedThread& thread : HA_TRY(observe_threads(target.process))) {
      held.freeze.threads.push_back(
          {thread.tid, std::move(thread.name), thread.state, std::nullopt, thread.stack_pointer});
    }
    return Copying(target, held, options.deadline.at).copy(held.freeze.threads, accept_misfits);
  }
  const FreezeOptions freeze{.budget = options.max_pause.value_or(kDefaultBudget),
                             .rewind = options.rewind};
  bool is_copied = false;
  auto frozen = while_frozen(target.process, freeze, [&](const FrozenView& view) -> Result<void> {
    Copying copying(target, held, std::min(view.deadline, options.deadline.at));
    is_copied = HA_TRY(copying.copy(view.threads, accept_misfits));
    return {};
  });
  if (!frozen) return explain_timeout(std::move(frozen).error(), options, freeze.budget);
  held.freeze = std::move(*frozen);
  held.is_held = true;
  return is_copied;
}

}  // namespace

std::uint64_t unaccounted_bytes(const HeldHeap& held) {
  if (!held.counters.heap_bytes) return 0;
  const std::uint64_t listed = held.index.used_bytes + held.index.free_bytes;
  const std::uint64_t counted = *held.counters.heap_bytes;
  return std::max(listed, counted) - std::min(listed, counted);
}

Result<std::unique_ptr<HeldHeap>> hold_and_copy(const Target& target, const TakeOptions& options) {
  auto held = std::make_unique<HeldHeap>(HA_TRY(make_arena(target)));
  for (int attempt = 1;; ++attempt) {
    const bool is_last = attempt == kAttempts;
    if (HA_TRY(hold_once(target, options, is_last, *held))) return held;
    HA_TRY(options.deadline.check("reading the heap's index"));
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

}  // namespace heapattach::snapshot
