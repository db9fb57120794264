// The target is stopped meanwhile, and may have 100,000 fibers, each with a stack between two
// mappings: everything here takes a few passes in the order of addresses, in large batches.

#include "report/stacks/copy_stacks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "attach/base/team.h"
#include "attach/base/word.h"
#include "report/parallel.h"
#include "report/stacks/mono_threads.h"
#include "report/stacks/needed_memory.h"
#include "report/stacks/radix_sort.h"
#include "symbols/boehm/blocks.h"
#include "symbols/boehm/roots.h"
#include "symbols/heap/roots.h"
#include "symbols/unwind/signal_stacks.h"

namespace heapattach::stacks {

namespace {

using Clock = std::chrono::steady_clock;
using Threads = std::span<const FrozenThread>;

// A wrong stack pointer may point to the beginning of a heap.
constexpr std::uint64_t kMostStackBytes = std::uint64_t{512} << 20U;
constexpr std::size_t kMostHeads = 1'000'000;

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
    radix_sort(words_);
    words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
    return std::move(words_);
  }

 private:
  static constexpr unsigned kPlaceBits = 13;  // they fit into a core's own cache
  std::vector<std::uint64_t> last_ = std::vector<std::uint64_t>(std::size_t{1} << kPlaceBits);
  std::vector<std::uint64_t> words_;
};

std::vector<std::uint64_t> joined(const std::vector<std::vector<std::uint64_t>>& sorted) {
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& one : sorted) {
    std::vector<std::uint64_t> both;
    both.reserve(all.size() + one.size());
    std::set_union(all.begin(), all.end(), one.begin(), one.end(), std::back_inserter(both));
    all = std::move(both);
  }
  return all;
}

class Copying {
 public:
  Copying(const StackTarget& target, HeldStacks& held, Threads threads, Clock::time_point deadline)
      : target_(target),
        held_(held),
        threads_(threads),
        limits_{workers_for(~std::size_t{0}), deadline} {}

  Result<void> copy(const ExpectedMap* expected) {
    if (target_.ruby) {
      // Half of the time: the rest is for the stacks, which no fiber of Ruby's must cost.
      const auto now = Clock::now();
      std::vector<ruby::NativeThread> natives;
      for (const FrozenThread& thread : threads_) {
        if (!thread.registers) continue;
        natives.push_back({thread.registers->thread_pointer.value, thread.tid});
      }
      held_.ruby = ruby::read_threads(*target_.ruby, target_.memory, natives, target_.ruby_fibers,
                                      now + (limits_.deadline - now) / 2);
    }
    if (expected != nullptr) return copy_and_check(*expected);
    held_.map = target_.core ? target_.map : HA_TRY(target_.process->maps());
    return copy_by_map();
  }

 private:
  // At the same time, if there is another thread.
  Result<void> copy_and_check(const ExpectedMap& expected) {
    Result<void> copied;
    Result<std::optional<MemoryMap>> changed = std::optional<MemoryMap>();
    std::atomic<int> jobs{0};
    const auto work = [&](unsigned) {
      for (int job = jobs++; job < 2; job = jobs++) {
        if (job == 0) copied = copy_by_map();
        if (job == 1) changed = expected.changed(*target_.process);
      }
    };
    run_team(2, {.begin = {}, .work = work, .abandon = {}});
    HA_TRY(std::move(copied));
    auto map = HA_TRY(std::move(changed));
    if (!map) return {};
    held_.map = std::move(*map);
    return copy_by_map();
  }

  Result<void> copy_by_map() {
    if (target_.heap) find_fibers();
    std::vector<Range> wanted;
    for (const crystal::FiberStack& fiber : held_.fibers) {
      wanted.push_back({fiber.object, target_.fibers.object_bytes});
    }
    for (const crystal::FiberStack& fiber : held_.fibers) wanted.push_back(fiber.stack);
    for (const auto& root : boehm::stack_roots(threads_, held_.map)) wanted.push_back(root.range);
    for (Range range : unwind::interrupted_stacks(threads_, held_.map, target_.memory)) {
      wanted.push_back(range);
    }
    for (Range& range : wanted) range.bytes = std::min(range.bytes, kMostStackBytes);
    HA_TRY(add(std::move(wanted)));
    return add(find_heads());
  }

  // Adds the parts that were not copied before.
  Result<void> add(std::vector<Range> ranges) {
    ranges = merged(std::move(ranges));
    for (const std::vector<Range>& before : copied_) ranges = less(ranges, before);
    HA_TRY(held_.capture.add(target_.memory, ranges, limits_));
    copied_.push_back(std::move(ranges));
    return {};
  }

  void find_fibers() {
    auto index = boehm::read_blocks(target_.memory, held_.map, *target_.heap);
    if (!index) return;
    held_.index = std::move(*index);
    held_.fibers =
        crystal::suspended_fibers(target_.fibers, held_.index, target_.memory, held_.map, threads_);
  }

  // The memory that arguments of system calls, the fibers and the innermost frames reference.
  [[nodiscard]] std::vector<Range> find_heads() const {
    std::vector<Range> heads = memory_of_calls(threads_, target_.modules);
    if (target_.mono) {
      const auto more = memory_of_mono(*target_.mono, threads_, target_.modules, target_.memory);
      heads.insert(heads.end(), more.begin(), more.end());
    }
    if (held_.fibers.empty()) return heads;
    FiberWords of_fibers =
        words_of(held_.fibers, target_.fibers.object_bytes, held_.index, held_.map, held_.capture);
    heads.insert(heads.end(), of_fibers.timers.begin(), of_fibers.timers.end());
    std::size_t block = 0;
    RemoteAddr last{};
    for (const std::uint64_t word : words_in_heap(of_fibers.in_heap)) {
      const auto object = object_around(held_.index, word, block);
      if (!object || object->start == last || heads.size() > kMostHeads) continue;
      last = object->start;
      heads.push_back({object->start, std::min(object->bytes, kHeadBytes)});
    }
    return heads;
  }

  // The `known` words and those of the innermost frames, sorted, each once.
  [[nodiscard]] std::vector<std::uint64_t> words_in_heap(
      std::span<const std::uint64_t> known) const {
    constexpr std::size_t kFibersAtOnce = 4096;
    const std::span<const crystal::FiberStack> fibers = held_.fibers;
    std::vector<std::vector<std::uint64_t>> found(workers_for(fibers.size() / kFibersAtOnce + 1));
    std::atomic<std::size_t> next{0};
    run_workers(static_cast<unsigned>(found.size()), [&](unsigned worker) {
      SeenWords words;
      if (worker == 0) {
        for (const std::uint64_t word : known) words.add(word);
      }
      for (std::size_t at = next.fetch_add(kFibersAtOnce); at < fibers.size();
           at = next.fetch_add(kFibersAtOnce)) {
        add_words(fibers.subspan(at, std::min(kFibersAtOnce, fibers.size() - at)), words);
      }
      found[worker] = std::move(words).sorted();
    });
    return joined(found);
  }

  void add_words(std::span<const crystal::FiberStack> fibers, SeenWords& words) const {
    const Range heap = span_of(held_.index);
    for (const crystal::FiberStack& fiber : fibers) {
      const auto bytes = held_.capture.bytes_from(fiber.stack.start);
      const std::size_t most = std::min({bytes.size(), fiber.stack.bytes, kTopBytes});
      for (std::size_t at = 0; at + kWordBytes <= most; at += kWordBytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if (heap.contains(RemoteAddr{word})) words.add(word);
      }
    }
  }

  const StackTarget& target_;
  HeldStacks& held_;
  Threads threads_;
  CopyLimits limits_;
  std::vector<std::vector<Range>> copied_;  // each as it was added
};

}  // namespace

Result<void> copy_stacks(const StackTarget& target,
                         const ExpectedMap* expected,
                         std::span<const FrozenThread> threads,
                         std::chrono::steady_clock::time_point deadline,
                         HeldStacks& held) {
  return Copying(target, held, threads, deadline).copy(expected);
}

}  // namespace heapattach::stacks
