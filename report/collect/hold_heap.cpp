#include "report/collect/hold_heap.h"

#include <algorithm>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "attach/process/control_groups.h"
#include "report/collect/copying.h"
#include "report/collect/hold_attempts.h"
#include "report/collect/pause.h"
#include "report/collect/private_memory.h"
#include "report/parallel.h"
#include "symbols/heap/by_hand.h"
#include "symbols/heap/heap_memory.h"

namespace heapattach::snapshot {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenAttempts = std::chrono::milliseconds(5);
constexpr std::uint64_t kMegabyte = 1U << 20;

std::uint64_t total_bytes(std::span<const heap::RootRange> roots) {
  std::uint64_t sum = 0;
  for (const heap::RootRange& root : roots) sum += root.range.bytes;
  return sum;
}

// The heap's size, less what is free in it; nothing if the counters were not found.
std::optional<std::uint64_t> used_bytes(const Target& target) {
  const heap::Counters now = target.heaps.front()->counters(target.memory);
  if (!now.heap_bytes) return std::nullopt;
  return *now.heap_bytes - std::min(*now.heap_bytes, now.free_bytes.value_or(0));
}

// Reserves room for everything that will be copied. Address space costs nothing, so it is generous;
// only memory that is certain to be used is touched beforehand.
Result<Arena> make_arena(const Target& target, bool is_heap_copied) {
  std::uint64_t mapped = 0;
  const auto& all = target.map.mappings();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mapping& mapping = all[i];
    const bool is_left_out = mapping.range.bytes > kLargestMapping;
    const bool may_be_copied = heap::may_hold_heap(mapping) || heap::is_generated_code(mapping) ||
                               heap::is_guard_within(all, i);
    if (may_be_copied && !is_left_out) mapped += mapping.range.bytes;
  }
  // Memory that the core file lacks is not copied.
  if (target.core) mapped = std::min(mapped, target.core->stored_bytes());
  // The collector's counters come from the target, and may be wrong.
  const std::uint64_t most =
      std::min(mapped, resident_bytes(target).value_or(target.process ? 0 : mapped));
  if (target.has_by_hand()) {
    return Arena::reserve(mapped + mapped / 2 + 256 * kMegabyte, target.process ? most : 0);
  }
  const std::uint64_t copied = is_heap_copied ? used_bytes(target).value_or(0) : 0;
  const std::uint64_t likely =
      std::min(most, copied + total_bytes(target.heaps.front()->static_roots()));
  return Arena::reserve(mapped + mapped / 2 + 256 * kMegabyte, likely);
}

// The memory for a window on the clone's heap; nothing if the heap is copied. Counting needs each
// object's contents only once, so the heap can be read in place. But it needs them in the order in
// which the objects are found, which may be all over the heap, so a heap that fits into half of the
// memory that is left is copied.
std::optional<std::uint64_t> window_room(const Target& target,
                                         Hold hold,
                                         const TakeOptions& options) {
  const bool may_be =
      hold == Hold::Clone && !target.has_by_hand() && !options.with_edges && !options.texts_only;
  if (!may_be) return std::nullopt;
  const std::uint64_t room = memory_left() / 2;
  const auto used = used_bytes(target);
  if ((used ? *used : most_used_bytes(target)) <= room) return std::nullopt;
  return room;
}

// The longest pause ends before the time for the whole run does.
std::chrono::milliseconds longest_pause(const Request& request) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(request.deadline.at - Clock::now());
  return std::clamp(left, std::chrono::milliseconds(1), request.longest_pause());
}

// What is decided and listed before the target is stopped.
struct Before {
  std::optional<std::uint64_t> window_room;  // as window_room() returns it
  std::vector<Descriptor> descriptors;       // if the heap's program frees by hand
};

// One attempt to copy the heap, in the way that was chosen. The results are true if the heap was
// copied, and false if it should be tried again.
class Attempt {
 public:
  Attempt(const Target& target,
          const TakeOptions& options,
          const Before& before,
          bool accept_misfits,
          HeldHeap& held)
      : target_(target),
        options_(options),
        request_(options.request),
        before_(before),
        accept_misfits_(accept_misfits || target.core || options.held != nullptr),
        held_(held) {}

  Result<bool> run(Hold way) {
    if (target_.core) return frozen();
    if (options_.held != nullptr) {
      HA_TRY(hold_as_it_is(target_, request_, *options_.held, copy(), held_));
      return is_copied_;
    }
    switch (way) {
      case Hold::Nothing: return running();
      case Hold::Clone: return cloned();
      case Hold::Freeze:
      case Hold::Auto: break;
    }
    return frozen();
  }

 private:
  [[nodiscard]] HoldOptions how(std::chrono::milliseconds budget) const {
    return {.budget = budget,
            .with_vector_registers = target_.has_by_hand(),
            .advice = "--max-pause MS, which allows more, or --snapshot read, which stops nothing"};
  }

  // If the threads run meanwhile, nothing shows what they wait for.
  CopyFrom copy(bool with_waits = true, std::optional<std::uint64_t> window_room = {}) {
    return [this, with_waits, window_room](const HeldSource& from) -> Result<void> {
      Copying copying(target_, {from.process, from.memory, window_room}, held_, from.deadline);
      copying.with_memory(options_.on_memory != nullptr)
          .with_waits(with_waits ? wait_reader(options_) : nullptr)
          .with_contents(options_.with_contents)
          .with_descriptors(before_.descriptors);
      is_copied_ = HA_TRY(copying.copy(from.threads, accept_misfits_));
      return {};
    };
  }

  Result<bool> frozen() {
    HA_TRY(hold(target_, request_, how(longest_pause(request_)), copy(), held_));
    return is_copied_;
  }

  Result<bool> running() {
    HA_TRY(hold_nothing(target_, request_, copy(false), held_));
    return is_copied_;
  }

  Result<bool> cloned() {
    bool is_collecting = false;
    HoldOptions stop = how(request_.longest_pause());
    stop.look = [&]() -> Result<void> {
      const auto counters = target_.heaps.front()->counters(target_.memory);
      is_collecting = counters.collecting.value_or(false) && !accept_misfits_;
      // A clone made during a collection would be useless.
      if (is_collecting) return Error{ErrorKind::Timeout, "a collection is running"};
      if (!target_.has_by_hand()) return {};
      const MemoryMap map = HA_TRY(target_.process->maps());
      const CopyLimits limits{workers_for(~std::size_t{0}), request_.deadline.at};
      held_.others =
          HA_TRY(copy_other_references(target_, map, before_.descriptors, limits, held_.capture));
      return {};
    };
    auto clone = hold_clone(target_, request_, stop, copy(true, before_.window_room), held_);
    if (!clone && is_collecting) return false;
    if (!clone) return std::move(clone).error();
    if (is_copied_ && before_.window_room) {
      held_.clone = std::move(*clone);
      return true;
    }
    if (const auto ended = clone->end(); !ended) request_.note(ended.error().message());
    return is_copied_;
  }

  const Target& target_;
  const TakeOptions& options_;
  const Request& request_;
  const Before& before_;
  bool accept_misfits_;
  HeldHeap& held_;
  bool is_copied_ = false;
};

// Decides for --snapshot auto.
Hold decide(const Target& target, const TakeOptions& options) {
  if (options.hold != Hold::Auto || target.core || options.held != nullptr) return options.hold;
  const std::uint64_t used =
      (target.has_by_hand() ? resident_bytes(target) : used_bytes(target)).value_or(0);
  const PauseEstimate estimate =
      estimate_pause(*target.process, used, options.request.longest_pause());
  const Hold hold = choose_hold(estimate, options.request.max_pause);
  options.request.note(fmt::format(
      "a freeze may take {} ms, a clone {} ms{}: {}", estimate.freeze.count(),
      estimate.clone.count(), estimate.clone_obstacle ? ", but " + *estimate.clone_obstacle : "",
      hold == Hold::Clone ? "clone" : "freeze"));
  return hold;
}

bool has_problems(const HeldHeap& held) {
  return std::any_of(held.heaps.begin(), held.heaps.end(),
                     [](const heap::Contents& one) { return !one.problems.empty(); });
}

}  // namespace

Result<std::unique_ptr<HeldHeap>> hold_and_copy(const Target& target, const TakeOptions& options) {
  const Hold first = decide(target, options);
  Before before;
  before.window_room = window_room(target, first, options);
  if (target.has_by_hand() && target.process)
    before.descriptors = open_descriptors(*target.process);
  auto held = std::make_unique<HeldHeap>(HA_TRY(make_arena(target, !before.window_room)));
  HoldAttempts attempts;
  // Discards a dead clone's partial copy.
  attempts.start_afresh = [&]() -> Result<void> {
    held.reset();  // the next copy uses its memory
    held = std::make_unique<HeldHeap>(HA_TRY(make_arena(target, true)));
    return {};
  };
  attempts.once = [&](Hold hold, bool is_last) -> Result<bool> {
    const bool is_copied = HA_TRY(Attempt(target, options, before, is_last, *held).run(hold));
    if (!target.has_by_hand()) return is_copied;
    if (is_copied) {
      HA_TRY(read_heaps(target, options.request, *held));
      if (!has_problems(*held) || is_last || target.core || options.held != nullptr) return true;
    }
    // Perhaps a thread was stopped inside malloc.
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
  auto read = end_clone(*held.clone, options.request);
  held.clone.reset();
  held.capture.end_window();
  return read;
}

}  // namespace heapattach::snapshot
