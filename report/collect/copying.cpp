#include "report/collect/copying.h"

#include <algorithm>
#include <utility>

#include "report/collect/malloc_heap.h"
#include "report/collect/see_memory.h"
#include "report/parallel.h"
#include "symbols/boehm/bounded_blocks.h"
#include "symbols/boehm/heap.h"
#include "symbols/heap/roots.h"

namespace heapattach::snapshot {

namespace {

// How much of a heap to keep here while it is read through a window. What the collector scans is
// accessed in random order, and the rest, such as texts, in address order.
std::size_t window_bytes(const heap::BlockIndex& index, std::uint64_t in_use) {
  constexpr std::uint64_t kLeast = 16U << 20;
  constexpr std::uint64_t kPerObject = 4;
  constexpr std::uint64_t kShareOfScanned = 10;
  std::uint64_t objects = 0;
  std::uint64_t scanned = 0;
  for (const heap::Block& block : index.blocks) {
    objects += block.objects;
    if (!block.is_atomic()) scanned += block.objects * block.object_bytes;
  }
  return kLeast + objects * kPerObject + std::min(scanned, in_use) / kShareOfScanned;
}

// A collector that was stopped while it grew its heap has counted what its index does not list yet.
// One that was about to collect may have been changing its table of roots.
bool is_consistent(const HeldHeap& held) {
  return held.index.skipped == 0 && unaccounted_bytes(held) == 0 &&
         held.root_tables.problem.empty();
}

}  // namespace

Copying::Copying(const Target& target,
                 CopySource source,
                 HeldHeap& held,
                 std::chrono::steady_clock::time_point deadline)
    : target_(target),
      source_(source),
      held_(held),
      limits_{workers_for(~std::size_t{0}), deadline} {}

Result<bool> Copying::copy(const std::vector<FrozenThread>& threads, bool accept_misfits) {
  held_.map = source_.process == nullptr ? target_.map : HA_TRY(source_.process->maps());
  if (target_.is_malloc) {
    HA_TRY(copy_malloc(threads));
    return true;
  }
  const boehm::Layout& layout = target_.collector.layout;
  in_use_ = most_used_bytes(target_);
  held_.index = HA_TRY(boehm::read_bounded_blocks(source_.memory, held_.map, layout, in_use_));
  held_.counters = boehm::read_counters(target_.collector, source_.memory);
  held_.root_tables =
      boehm::read_root_tables(target_.collector, target_.collector_data, source_.memory);
  if (!is_consistent(held_) && !accept_misfits) return false;

  const std::vector<Range> blocks = boehm::plan_copy(held_.index, layout);
  const std::vector<Range> heap = HA_TRY(target_.is_both ? add_everything() : add_heap(blocks));
  if (target_.runtime == "crystal") {
    held_.fibers =
        crystal::suspended_fibers(target_.fibers, held_.index, held_.capture, held_.map, threads);
  }

  held_.roots = boehm::static_roots(target_.modules, target_.collector, held_.root_tables);
  const auto stacks = boehm::stack_roots(threads, held_.map);
  held_.roots.insert(held_.roots.end(), stacks.begin(), stacks.end());
  for (const crystal::FiberStack& fiber : held_.fibers) add_fiber(fiber);
  const auto more = runtimes::more_roots(target_.runtimes, held_.index, source_.memory, held_.map);
  held_.roots.insert(held_.roots.end(), more.begin(), more.end());
  std::vector<Range> others = target_.collector_data;
  // Those in memory that is shared with other processes are not copied yet.
  if (target_.is_both) others.insert(others.end(), blocks.begin(), blocks.end());
  if (waits_ != nullptr) {
    const std::vector<Range> needed = waits_->needs(target_, held_, threads);
    others.insert(others.end(), needed.begin(), needed.end());
  }
  const std::vector<Range> rest = heap::plan_copy(held_.roots, others, heap, held_.map);
  HA_TRY(held_.capture.add(source_.memory, rest, limits_));
  // Of the target itself: a clone has its own copies of pages that the target has written to since.
  if (with_memory_ && target_.process) {
    held_.memory = HA_TRY(see_memory(*target_.process, held_.index, threads, held_.fibers));
  }
  return true;
}

// Where malloc's heap is, will be seen in the copy.
Result<std::vector<Range>> Copying::add_everything() {
  held_.malloc_copy = plan_malloc_copy(target_, source_.process, held_.map);
  if (held_.is_clone && target_.process) note_uncopied(*target_.process, held_.malloc_copy);
  const MallocCopy& plan = held_.malloc_copy;
  HA_TRY(held_.capture.add_parts(source_.memory, plan.ranges, plan.touched, limits_));
  return plan.ranges;
}

Result<void> Copying::copy_malloc(const std::vector<FrozenThread>& threads) {
  const std::vector<Range> copied = HA_TRY(add_everything());
  if (waits_ != nullptr) {
    const std::vector<Range> needed = waits_->needs(target_, held_, threads);
    HA_TRY(
        held_.capture.add(source_.memory, heap::plan_copy({}, needed, copied, held_.map), limits_));
  }
  if (with_memory_ && target_.process) {
    held_.memory = HA_TRY(see_memory(*target_.process, held_.index, threads, held_.fibers));
  }
  return {};
}

Result<std::vector<Range>> Copying::add_heap(std::vector<Range> heap) {
  if (source_.in_passing) {
    Fd mem = HA_TRY(LiveMemory::open_mem(*source_.process));
    HA_TRY(held_.capture.add_window(std::move(mem), heap, window_bytes(held_.index, in_use_)));
    return heap;
  }
  HA_TRY(add_contents(heap));
  if (!with_contents_) return heap;
  const std::vector<Range> rest = heap::rest_of_contents(held_.index, heap);
  HA_TRY(add_contents(rest));
  heap.insert(heap.end(), rest.begin(), rest.end());
  std::sort(heap.begin(), heap.end());
  return heap;
}

// Skips untouched pages, which have no contents. Finding them takes time, so this is done only if
// there must be many.
Result<void> Copying::add_contents(const std::vector<Range>& ranges) {
  std::uint64_t bytes = 0;
  for (const Range& range : ranges) bytes += range.bytes;
  constexpr std::uint64_t kMargin = 64U << 20;
  if (source_.process == nullptr || in_use_ > bytes || bytes - in_use_ < kMargin) {
    return held_.capture.add(source_.memory, ranges, limits_);
  }
  const std::vector<Range> touched =
      HA_TRY(touched_parts(*source_.process, ranges, limits_.deadline));
  return held_.capture.add_parts(source_.memory, ranges, touched, limits_);
}

// A running fiber uses its thread's stack range. The collector learns the end of that range only
// when a collection begins, and until then may have the end of an earlier fiber, so the end is
// taken from the fiber. The first thread's range stays a Stack: it is mostly the thread's own.
void Copying::add_fiber(const crystal::FiberStack& fiber) {
  if (!fiber.is_running) {
    held_.roots.push_back({heap::RootKind::Fiber, fiber.stack, 0, fiber.object.value});
    return;
  }
  for (heap::RootRange& root : held_.roots) {
    const bool is_its_thread = root.kind == heap::RootKind::Stack &&
                               root.range.start <= fiber.stack.start &&
                               fiber.stack.start < root.range.end();
    if (!is_its_thread) continue;
    if (root.thread != target_.pid()) root.kind = heap::RootKind::Fiber;
    root.range.bytes = fiber.stack.end() - root.range.start;
    root.fiber = fiber.object.value;
  }
}

}  // namespace heapattach::snapshot
