#include "report/stacks/held_stacks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attach/base/near_search.h"
#include "attach/base/word.h"
#include "attach/process/expected_map.h"
#include "report/stacks/copy_stacks.h"
#include "report/stacks/thread_load.h"

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kMegabyte = 1U << 20U;
constexpr std::uint64_t kLikelyBytes = 768;  // in use of a fiber's stack, which has two mappings
constexpr std::uint64_t kLargestStack = std::uint64_t{256} << 30U;  // a sanitizer reserves more
constexpr std::size_t kManyMappings = 1000;  // take a fraction of a millisecond to parse

std::uint64_t stack_bytes(const StackTarget& target) {
  std::uint64_t sum = 0;
  for (const Mapping& mapping : target.map.mappings()) {
    const bool may_be_stack = mapping.writable && mapping.is_anonymous();
    if (may_be_stack && mapping.range.bytes <= kLargestStack) sum += mapping.range.bytes;
  }
  return target.core ? std::min(sum, target.core->stored_bytes()) : sum;
}

}  // namespace

std::optional<HeapObject> object_around(const heap::BlockIndex& index, std::uint64_t word) {
  std::size_t hint = index.blocks.size() / 2;
  return object_around(index, word, hint);
}

std::optional<HeapObject> object_around(const heap::BlockIndex& index,
                                        std::uint64_t word,
                                        std::size_t& hint) {
  const auto begin = index.blocks.begin();
  const auto guess = begin + static_cast<std::ptrdiff_t>(std::min(hint, index.blocks.size()));
  const auto behind =
      partition_point_near(begin, index.blocks.end(), guess,
                           [&](const heap::Block& block) { return block.start.value <= word; });
  hint = static_cast<std::size_t>(behind - begin);
  if (behind == begin) return {};
  const heap::Block& block = *std::prev(behind);
  if (block.object_bytes == 0) return {};
  const std::uint64_t slot = (word - block.start.value) / block.object_bytes;
  if (slot >= block.objects) return {};
  return HeapObject{block.start + slot * block.object_bytes, block.object_bytes};
}

std::vector<Range> merged(std::vector<Range> ranges) {
  // They come in a few sorted runs, forwards or backwards, which are merged in a few passes.
  std::stable_sort(ranges.begin(), ranges.end());
  std::size_t count = 0;
  for (const Range range : ranges) {
    const std::uint64_t start = range.start.value & ~(kWordBytes - 1);
    const std::uint64_t end = (range.end().value + kWordBytes - 1) & ~(kWordBytes - 1);
    if (range.bytes == 0 || end <= start) continue;
    if (count > 0 && start <= ranges[count - 1].end().value) {
      Range& last = ranges[count - 1];
      last.bytes = std::max(last.end().value, end) - last.start.value;
    } else {
      ranges[count++] = {RemoteAddr{start}, end - start};
    }
  }
  ranges.resize(count);
  return ranges;
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

Result<std::unique_ptr<HeldStacks>> hold_stacks(const StackTarget& target, const Request& request) {
  auto held = std::make_unique<HeldStacks>(
      HA_TRY(Arena::reserve(2 * stack_bytes(target) + 256 * kMegabyte,
                            kMegabyte + target.map.mappings().size() * kLikelyBytes)));
  std::optional<ExpectedMap> expected;
  if (target.process && target.map.mappings().size() > kManyMappings) {
    expected = HA_TRY(ExpectedMap::read(*target.process, held->map));
  }
  if (target.process) held->before = HA_TRY(observe_activity(*target.process));
  snapshot::HoldOptions how{.budget = request.longest_pause(),
                            .advice = "--max-pause MS, which allows more"};
  // A longer allowed pause also means a longer wait for a thread without a processor to stop on.
  if (request.max_pause) {
    how.thread_deadline = std::max(FreezeOptions().thread_deadline, *request.max_pause / 2);
  }
  const auto copy = [&](const snapshot::HeldSource& from) {
    return copy_stacks(target, expected ? &*expected : nullptr, from.threads, from.deadline, *held);
  };
  HA_TRY(snapshot::hold(target, request, how, copy, *held));
  if (target.core) return held;
  ObservedLoad load = observe_load(*target.process, held->before, held->freeze.threads);
  held->after = std::move(load.after);
  held->busy = std::move(load.busy);
  request.note(fmt::format("copied the stacks of {} threads and {} fibers",
                           held->freeze.threads.size(), held->fibers.size()));
  return held;
}

}  // namespace heapattach::stacks
