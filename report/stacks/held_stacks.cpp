#include "report/stacks/held_stacks.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attach/x86_64.h"
#include "report/parallel.h"
#include "report/stacks/needed_memory.h"
#include "symbols/boehm/roots.h"
#include "symbols/unwind/signal_stacks.h"

namespace heapattach::stacks {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLookInterval = std::chrono::milliseconds(12);
constexpr int kLooks = 10;
constexpr std::uint64_t kMegabyte = 1U << 20U;
// A wrong stack pointer may point to the beginning of a heap.
constexpr std::uint64_t kMostStackBytes = 512 * kMegabyte;
constexpr std::size_t kMostHeads = 1'000'000;
constexpr std::uint64_t kLikelyBytes = 512;  // in use of a fiber's stack, which has two mappings

std::uint64_t stack_bytes(const StackTarget& target) {
  std::uint64_t sum = 0;
  for (const Mapping& mapping : target.map.mappings()) {
    if (mapping.writable && mapping.is_anonymous()) sum += mapping.range.bytes;
  }
  return target.core ? std::min(sum, target.core->stored_bytes()) : sum;
}

std::chrono::nanoseconds monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Words, most of which repeat: the stacks of fibers reference the same few objects, and each its
// own several times. Few repeats pass, so there is little to sort while the target is stopped.
class SeenWords {
 public:
  void add(std::uint64_t word) {
    constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15;
    std::uint64_t& last = last_[word * kHashFactor >> (64 - kPlaceBits)];
    if (std::exchange(last, word) != word) words_.push_back(word);
  }
  [[nodiscard]] std::vector<std::uint64_t> sorted() && {
    std::sort(words_.begin(), words_.end());
    words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
    return std::move(words_);
  }

 private:
  static constexpr unsigned kPlaceBits = 13;  // they fit into a core's own cache
  std::vector<std::uint64_t> last_ = std::vector<std::uint64_t>(std::size_t{1} << kPlaceBits);
  std::vector<std::uint64_t> words_;
};

// The copying, while the target is stopped.
class Copying {
 public:
  Copying(const StackTarget& target, HeldStacks& held, Clock::time_point deadline)
      : target_(target), held_(held), limits_{workers_for(~std::size_t{0}), deadline} {}

  Result<void> copy(const std::vector<FrozenThread>& threads) {
    if (target_.process) held_.monotonic = monotonic_now();
    held_.map = target_.core ? target_.map : HA_TRY(target_.process->maps());
    if (target_.heap) find_fibers(threads);
    if (target_.ruby) {
      // Half of the time: the rest is for the stacks, which no fiber of Ruby's must cost.
      const auto now = Clock::now();
      held_.ruby = ruby::read_threads(*target_.ruby, target_.memory, target_.ruby_fibers,
                                      now + (limits_.deadline - now) / 2);
    }
    std::vector<Range> stacks;
    for (const auto& root : boehm::stack_roots(threads, held_.map)) stacks.push_back(root.range);
    for (const crystal::FiberStack& fiber : held_.fibers) {
      stacks.push_back(fiber.stack);
      stacks.push_back({fiber.object, target_.fibers.object_bytes});
    }
    for (Range range : unwind::interrupted_stacks(threads, held_.map, target_.memory)) {
      stacks.push_back(range);
    }
    for (Range& range : stacks) range.bytes = std::min(range.bytes, kMostStackBytes);
    stacks = merged(std::move(stacks));
    HA_TRY(held_.capture.add(target_.memory, stacks, limits_));
    const std::vector<Range> heads = less(merged(find_heads(threads)), stacks);
    return held_.capture.add(target_.memory, heads, limits_);
  }

 private:
  void find_fibers(const std::vector<FrozenThread>& threads) {
    auto index = boehm::read_blocks(target_.memory, held_.map, *target_.heap);
    if (!index) return;
    held_.index = std::move(*index);
    held_.fibers =
        crystal::suspended_fibers(target_.fibers, held_.index, target_.memory, held_.map, threads);
  }

  // The memory that arguments of system calls, the fibers and the innermost frames reference.
  std::vector<Range> find_heads(const std::vector<FrozenThread>& threads) {
    std::vector<Range> heads = memory_of_calls(threads, target_.modules);
    if (held_.fibers.empty()) return heads;
    FiberWords of_fibers =
        words_of(held_.fibers, target_.fibers.object_bytes, held_.index, held_.map, held_.capture);
    heads.insert(heads.end(), of_fibers.timers.begin(), of_fibers.timers.end());
    SeenWords words;
    for (const std::uint64_t word : of_fibers.in_heap) words.add(word);
    for (const crystal::FiberStack& fiber : held_.fibers) {
      add_words({fiber.stack.start, std::min(fiber.stack.bytes, kTopBytes)}, words);
    }
    RemoteAddr last{};
    for (const std::uint64_t word : std::move(words).sorted()) {
      const auto object = object_around(held_.index, word);
      if (!object || object->start == last || heads.size() > kMostHeads) continue;
      last = object->start;
      heads.push_back({object->start, std::min(object->bytes, kHeadBytes)});
    }
    return heads;
  }

  void add_words(Range range, SeenWords& words) const {
    const auto bytes = held_.capture.bytes_from(range.start);
    for (std::size_t at = 0; at + kWordBytes <= std::min<std::uint64_t>(bytes.size(), range.bytes);
         at += kWordBytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      if (is_in_heap(held_.index, word)) words.add(word);
    }
  }

  const StackTarget& target_;
  HeldStacks& held_;
  CopyLimits limits_;
};

// Checks several times which threads run, long enough apart to find one that never gives up its
// processor: a hung process uses no processor time.
void observe_load(const StackTarget& target, HeldStacks& held) {
  for (const FrozenThread& thread : held.freeze.threads) {
    if (thread.state != 'R') continue;
    const ThreadActivity* const before = activity_of(held.before, thread.tid);
    if (before != nullptr && before->state == 'R') held.busy.insert(thread.tid);
  }
  for (int look = 1; look <= kLooks && !held.busy.empty(); ++look) {
    std::this_thread::sleep_until(held.before.front().seen + look * kLookInterval);
    std::erase_if(held.busy, [&](pid_t tid) {
      const auto state = target.process->thread_state(tid);
      return !state || state->state != 'R';
    });
  }
  if (auto seen = observe_activity(*target.process)) held.after = std::move(*seen);
}

Error explained(Error error, const StackOptions& options, std::chrono::milliseconds budget) {
  if (error.kind != ErrorKind::Timeout || options.deadline.has_passed()) return error;
  return Error{ErrorKind::Timeout,
               fmt::format("{} (the target was held for {} ms at most, then released)",
                           error.message(), budget.count())}
      .advise("--max-pause MS, which allows more");
}

}  // namespace

const ThreadActivity* activity_of(std::span<const ThreadActivity> all, pid_t tid) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [tid](const ThreadActivity& one) { return one.tid == tid; });
  return found == all.end() ? nullptr : &*found;
}

std::optional<HeapObject> object_around(const boehm::BlockIndex& index, std::uint64_t word) {
  const auto behind =
      std::partition_point(index.blocks.begin(), index.blocks.end(),
                           [&](const boehm::Block& block) { return block.start.value <= word; });
  if (behind == index.blocks.begin()) return {};
  const boehm::Block& block = *std::prev(behind);
  if (block.object_bytes == 0) return {};
  const std::uint64_t slot = (word - block.start.value) / block.object_bytes;
  if (slot >= block.objects) return {};
  return HeapObject{block.start + slot * block.object_bytes, block.object_bytes};
}

std::vector<Range> merged(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<Range> result;
  for (Range range : ranges) {
    const std::uint64_t start = range.start.value & ~(kWordBytes - 1);
    const std::uint64_t end = (range.end().value + kWordBytes - 1) & ~(kWordBytes - 1);
    if (range.bytes == 0 || end <= start) continue;
    if (!result.empty() && start <= result.back().end().value) {
      const std::uint64_t last = std::max(result.back().end().value, end);
      result.back().bytes = last - result.back().start.value;
    } else {
      result.push_back({RemoteAddr{start}, end - start});
    }
  }
  return result;
}

std::vector<Range> less(const std::vector<Range>& ranges, const std::vector<Range>& without) {
  std::vector<Range> result;
  auto other = without.begin();
  for (Range range : ranges) {
    while (other != without.end() && other->end() <= range.start) ++other;
    for (auto cut = other; cut != without.end() && cut->start < range.end(); ++cut) {
      if (range.start < cut->start) result.push_back({range.start, cut->start - range.start});
      const RemoteAddr end = range.end();
      range.start = std::min(std::max(range.start, cut->end()), end);
      range.bytes = end - range.start;
    }
    if (range.bytes > 0) result.push_back(range);
  }
  return result;
}

Result<std::unique_ptr<HeldStacks>> hold_stacks(const StackTarget& target,
                                                const StackOptions& options) {
  auto held = std::make_unique<HeldStacks>(
      HA_TRY(Arena::reserve(2 * stack_bytes(target) + 256 * kMegabyte,
                            kMegabyte + target.map.mappings().size() * kLikelyBytes)));
  if (target.core) {
    held->freeze.threads = target.core->threads();
    HA_TRY(Copying(target, *held, options.deadline.at).copy(held->freeze.threads));
    return held;
  }
  held->before = HA_TRY(observe_activity(*target.process));
  FreezeOptions freeze{.budget = options.max_pause.value_or(kLongestFreeze),
                       .rewind = options.rewind,
                       .reads_only = true};
  // A longer allowed pause also means a longer wait for a thread without a processor to stop on.
  if (options.max_pause) {
    freeze.thread_deadline = std::max(freeze.thread_deadline, *options.max_pause / 2);
  }
  auto frozen = while_frozen(*target.process, freeze, [&](const FrozenView& view) {
    return Copying(target, *held, std::min(view.deadline, options.deadline.at)).copy(view.threads);
  });
  if (!frozen) return explained(std::move(frozen).error(), options, freeze.budget);
  held->freeze = std::move(*frozen);
  observe_load(target, *held);
  options.say(fmt::format("copied the stacks of {} threads and {} fibers",
                          held->freeze.threads.size(), held->fibers.size()));
  return held;
}

}  // namespace heapattach::stacks
