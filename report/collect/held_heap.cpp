#include "report/collect/held_heap.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "attach/memory/window.h"
#include "attach/process/observe.h"
#include "attach/process/process_end.h"
#include "inject/clone.h"
#include "report/collect/copying.h"
#include "report/collect/hold_attempts.h"
#include "report/collect/malloc_heap.h"
#include "report/collect/pause.h"
#include "symbols/heap/heap_memory.h"

namespace heapattach::snapshot {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenAttempts = std::chrono::milliseconds(5);
constexpr std::uint64_t kMegabyte = 1U << 20;

std::uint64_t total_bytes(const std::vector<heap::RootRange>& roots) {
  std::uint64_t sum = 0;
  for (const heap::RootRange& root : roots) sum += root.range.bytes;
  return sum;
}

// Room for everything that will be copied. Address space costs nothing, so it is generous; only
// what will surely be used is touched beforehand.
Result<Arena> make_arena(const Target& target, bool is_heap_copied) {
  const boehm::Counters now = boehm::read_counters(target.collector, target.memory);
  std::uint64_t mapped = 0;
  for (const Mapping& mapping : target.map.mappings()) {
    const bool is_left_out = mapping.range.bytes > kLargestMapping;
    if (heap::may_hold_heap(mapping) && !is_left_out) mapped += mapping.range.bytes;
  }
  // Memory that it leaves out is not copied, however much that is.
  if (target.core) mapped = std::min(mapped, target.core->stored_bytes());
  // The collector's counters come from the target, and may be wrong.
  const std::uint64_t most =
      std::min(mapped, resident_bytes(target).value_or(target.process ? 0 : mapped));
  if (target.reads_malloc()) {
    return Arena::reserve(mapped + mapped / 2 + 256 * kMegabyte, target.process ? most : 0);
  }
  const std::uint64_t heap = now.heap_bytes.value_or(0);
  const std::uint64_t copied =
      is_heap_copied ? heap - std::min(heap, now.free_bytes.value_or(0)) : 0;
  const std::uint64_t likely = std::min(most, copied + total_bytes(target.static_roots));
  return Arena::reserve(mapped + mapped / 2 + 256 * kMegabyte, likely);
}

// Counting needs each object's contents only once, in the order in which the objects are found.
bool is_read_in_passing(const Target& target, Hold hold, const TakeOptions& options) {
  return hold == Hold::Clone && !target.reads_malloc() && !options.with_edges &&
         !options.texts_only;
}

// The target is released before the time of the whole run is over.
std::chrono::milliseconds longest_pause(const TakeOptions& options) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.request.deadline.at - Clock::now());
  return std::clamp(left, std::chrono::milliseconds(1), options.request.longest_pause());
}

Error explain_timeout(Error error, const TakeOptions& options, std::chrono::milliseconds budget) {
  if (error.kind != ErrorKind::Timeout || options.request.deadline.has_passed()) return error;
  return Error{ErrorKind::Timeout,
               fmt::format("{} (the target was held for {} ms at most, then released)",
                           error.message(), budget.count())}
      .advise("--max-pause MS, which allows more, or --snapshot read, which stops nothing");
}

void note_time(HeldHeap& held) {
  held.captured = std::chrono::system_clock::now();
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  held.monotonic = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Each of these returns true if the heap was copied, false if it should be tried again.
Result<bool> copy_running(const Target& target,
                          const TakeOptions& options,
                          bool accept_misfits,
                          HeldHeap& held) {
  held.captured = std::chrono::system_clock::now();
  held.freeze.threads.clear();
  for (ObservedThread& thread : HA_TRY(observe_threads(*target.process))) {
    held.freeze.threads.push_back(
        {thread.tid, std::move(thread.name), thread.state, std::nullopt, thread.stack_pointer});
  }
  return Copying(target, {&*target.process, target.memory}, held, options.request.deadline.at)
      .with_memory(options.on_memory != nullptr)
      .with_contents(options.with_contents)
      .copy(held.freeze.threads, accept_misfits);
}

// The caller holds it.
Result<bool> copy_held(const Target& target, const TakeOptions& options, HeldHeap& held) {
  note_time(held);
  held.freeze.threads = *options.held;
  held.is_held = true;
  return Copying(target, {&*target.process, target.memory}, held, options.request.deadline.at)
      .with_memory(options.on_memory != nullptr)
      .with_waits(wait_reader(options))
      .with_contents(options.with_contents)
      .copy(held.freeze.threads, true);
}

Result<bool> copy_frozen(const Target& target,
                         const TakeOptions& options,
                         bool accept_misfits,
                         HeldHeap& held) {
  const FreezeOptions freeze{.budget = longest_pause(options),
                             .rewind = options.request.rewind,
                             .reads_only = true,
                             .with_vector_registers = target.reads_malloc()};
  bool is_copied = false;
  auto frozen = while_frozen(*target.process, freeze, [&](const FrozenView& view) -> Result<void> {
    note_time(held);
    Copying copying(target, {&*target.process, target.memory}, held,
                    std::min(view.deadline, options.request.deadline.at));
    copying.with_memory(options.on_memory != nullptr)
        .with_waits(wait_reader(options))
        .with_contents(options.with_contents);
    is_copied = HA_TRY(copying.copy(view.threads, accept_misfits));
    return {};
  });
  if (!frozen) return explain_timeout(std::move(frozen).error(), options, freeze.budget);
  held.freeze = std::move(*frozen);
  held.is_held = true;
  return is_copied;
}

Error explain_death(const Clone& clone) {
  const auto given_up = clone.given_up();
  const std::string how =
      given_up ? "was given up while it was read, because " + *given_up +
                     ", and the kernel might have ended the target for lack of memory"
               : ProcessEnd(clone.process()).words() +
                     " while it was read, by another process or for lack of memory";
  return Error{ErrorKind::Impossible, fmt::format("the clone {}; the target keeps running", how)}
      .advise("--snapshot freeze");
}

Result<bool> copy_clone(const Target& target,
                        const TakeOptions& options,
                        bool accept_misfits,
                        HeldHeap& held) {
  CloneOptions how{.freeze = {.budget = options.request.longest_pause(),
                              .rewind = options.request.rewind,
                              .with_vector_registers = target.reads_malloc()},
                   .look = nullptr,
                   .borrow = std::nullopt};
  bool is_collecting = false;
  how.look = [&](const FrozenView&) -> Result<void> {
    note_time(held);
    const auto counters = boehm::read_counters(target.collector, target.memory);
    is_collecting = counters.collecting.value_or(false) && !accept_misfits;
    // A clone of this state would be useless.
    if (is_collecting) return Error{ErrorKind::Timeout, "a collection is running"};
    return {};
  };
  auto made = Clone::make(*target.process, how);
  if (!made && is_collecting) return false;
  if (!made) return explain_timeout(std::move(made).error(), options, how.freeze.budget);
  Clone clone = std::move(*made);
  held.freeze = clone.freeze();
  held.is_held = true;
  held.is_clone = true;
  const LiveMemory memory(clone.process(), HA_TRY(LiveMemory::open_mem(clone.process())),
                          LiveMemory::By::MemFile);
  const bool in_passing = is_read_in_passing(target, Hold::Clone, options);
  auto copied =
      Copying(target, {&clone.process(), memory, in_passing}, held, options.request.deadline.at)
          .with_memory(options.on_memory != nullptr)
          .with_waits(wait_reader(options))
          .with_contents(options.with_contents)
          .copy(held.freeze.threads, accept_misfits);
  if (!clone.is_whole()) copied = explain_death(clone);
  if (copied && *copied && in_passing) {
    held.clone = std::move(clone);
    held.alone.emplace();
    return true;
  }
  if (const auto ended = clone.end(); !ended) options.request.note(ended.error().message());
  return copied;
}

// Nothing needs to be held, and nothing can be tried again.
Result<bool> copy_core(const Target& target, const TakeOptions& options, HeldHeap& held) {
  held.captured = target.core->written();
  held.freeze.threads = target.core->threads();
  held.is_held = true;
  return Copying(target, {nullptr, target.memory}, held, options.request.deadline.at)
      .with_waits(wait_reader(options))
      .with_contents(options.with_contents)
      .copy(held.freeze.threads, true);
}

Result<bool> hold_once(const Target& target,
                       Hold hold,
                       const TakeOptions& options,
                       bool accept_misfits,
                       HeldHeap& held) {
  if (target.core) return copy_core(target, options, held);
  if (options.held != nullptr) return copy_held(target, options, held);
  switch (hold) {
    case Hold::Nothing: return copy_running(target, options, accept_misfits, held);
    case Hold::Clone: return copy_clone(target, options, accept_misfits, held);
    case Hold::Freeze:
    case Hold::Auto: break;
  }
  return copy_frozen(target, options, accept_misfits, held);
}

// The choice of --snapshot auto.
Hold decide(const Target& target, const TakeOptions& options) {
  if (options.hold != Hold::Auto || target.core || options.held != nullptr) return options.hold;
  const boehm::Counters now = boehm::read_counters(target.collector, target.memory);
  const std::uint64_t heap = now.heap_bytes.value_or(0);
  const std::uint64_t used = target.reads_malloc()
                                 ? resident_bytes(target).value_or(0)
                                 : heap - std::min(heap, now.free_bytes.value_or(0));
  const PauseEstimate estimate =
      estimate_pause(*target.process, used, options.request.longest_pause());
  const Hold hold = choose_hold(estimate, options.request.max_pause);
  options.request.note(fmt::format(
      "a freeze may take {} ms, a clone {} ms{}: {}", estimate.freeze.count(),
      estimate.clone.count(), estimate.clone_obstacle ? ", but " + *estimate.clone_obstacle : "",
      hold == Hold::Clone ? "clone" : "freeze"));
  return hold;
}

}  // namespace

std::uint64_t unaccounted_bytes(const HeldHeap& held) {
  if (!held.counters.heap_bytes) return 0;
  const std::uint64_t listed = held.index.used_bytes + held.index.free_bytes;
  const std::uint64_t counted = *held.counters.heap_bytes;
  return std::max(listed, counted) - std::min(listed, counted);
}

Result<std::unique_ptr<HeldHeap>> hold_and_copy(const Target& target, const TakeOptions& options) {
  const Hold first = decide(target, options);
  auto held = std::make_unique<HeldHeap>(
      HA_TRY(make_arena(target, !is_read_in_passing(target, first, options))));
  HoldAttempts attempts;
  // What may have been copied of a clone that went is not to be copied twice.
  attempts.start_afresh = [&]() -> Result<void> {
    held.reset();  // its memory is used again
    held = std::make_unique<HeldHeap>(HA_TRY(make_arena(target, true)));
    return {};
  };
  attempts.once = [&](Hold hold, bool is_last) -> Result<bool> {
    const bool is_copied = HA_TRY(hold_once(target, hold, options, is_last, *held));
    if (!target.reads_malloc() || !is_copied) return is_copied;
    HA_TRY(read_malloc_heap(target, *held));
    if (held->malloc->problems.empty() || is_last || target.core || options.held != nullptr) {
      return true;
    }
    // It was changed while the threads were stopped in the midst of malloc, perhaps.
    HA_TRY(attempts.start_afresh());
    return false;
  };
  attempts.wait = [] { std::this_thread::sleep_for(kBetweenAttempts); };
  HA_TRY(hold_attempts(first, options, attempts));
  return held;
}

const WaitReader* wait_reader(const TakeOptions& options) {
  return options.with_edges ? options.waits : nullptr;
}

Result<void> finish_reading(HeldHeap& held, const TakeOptions& options) {
  if (!held.clone) return {};
  Result<void> read;
  if (!held.clone->is_whole()) read = explain_death(*held.clone);
  if (const auto ended = held.clone->end(); !ended) options.request.note(ended.error().message());
  held.clone.reset();
  held.alone.reset();
  held.capture.window()->forget();
  return read;
}

}  // namespace heapattach::snapshot
