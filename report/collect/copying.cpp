#include "report/collect/copying.h"

#include <algorithm>
#include <utility>

#include "report/collect/private_memory.h"
#include "report/collect/see_memory.h"
#include "report/parallel.h"
#include "symbols/heap/roots.h"

namespace heapattach::snapshot {

namespace {

// The bytes of a heap to keep in memory while it is read through a window. Scanned objects are
// accessed in random order, and the rest, such as texts, in address order. A list whose objects are
// scattered would cost a page fault for each of them, so what is scanned is kept whole if there is
// room.
std::size_t window_bytes(const heap::BlockIndex& index, std::uint64_t in_use, std::uint64_t room) {
  constexpr std::uint64_t kLeast = 16U << 20;
  constexpr std::uint64_t kPerObject = 4;
  constexpr std::uint64_t kShareOfScanned = 10;
  std::uint64_t objects = 0;
  std::uint64_t scanned = 0;
  for (const heap::Block& block : index.blocks) {
    objects += block.objects;
    if (!block.is_atomic()) scanned += block.objects * block.object_bytes;
  }
  scanned = std::min(scanned, in_use);
  return kLeast +
         std::max(objects * kPerObject + scanned / kShareOfScanned, std::min(scanned, room));
}

}  // namespace

Copying::Copying(const Target& target,
                 CopySource source,
                 HeldHeap& held,
                 std::chrono::steady_clock::time_point deadline)
    : target_(target),
      source_(source),
      held_(held),
      limits_{.workers = workers_for(~std::size_t{0}), .deadline = deadline, .are_touched = true} {}

Result<bool> Copying::copy(const std::vector<FrozenThread>& threads, bool accept_misfits) {
  held_.map = source_.process == nullptr ? target_.map : HA_TRY(source_.process->maps());
  held_.heaps = std::vector<heap::Contents>(target_.heaps.size());
  heap::Source* const collected = target_.collected();
  heap::CopyPlan plan;
  runtimes::MoreRoots more;
  if (collected != nullptr) {
    in_use_ = most_used_bytes(target_);
    plan = HA_TRY(collected->plan({target_.modules, source_.memory, held_.map}, threads, in_use_,
                                  held_.heaps.front()));
    more = runtimes::more_roots(target_.runtimes, held_.index(), source_.memory, held_.map);
    const bool is_settled = plan.is_settled && more.missing.empty();
    if (!is_settled && !accept_misfits) return false;
    if (!more.missing.empty()) held_.heaps.front().problems.push_back(more.missing);
  }
  const std::vector<Range> copied =
      HA_TRY(target_.has_by_hand() ? add_everything() : add_heap(plan.contents));
  held_.roots = std::move(plan.roots);
  if (collected != nullptr) add_fibers(threads);
  held_.roots.insert(held_.roots.end(), more.ranges.begin(), more.ranges.end());
  std::vector<Range> others = std::move(plan.data);
  // Blocks in memory that is shared with other processes have not been copied yet.
  if (target_.has_by_hand()) {
    others.insert(others.end(), plan.contents.begin(), plan.contents.end());
  }
  if (waits_ != nullptr) {
    const std::vector<Range> needed = waits_->needs(target_, held_, threads);
    others.insert(others.end(), needed.begin(), needed.end());
  }
  const std::vector<Range> rest = heap::plan_copy(held_.roots, others, copied, held_.map);
  HA_TRY(held_.capture.add(source_.memory, rest, limits_));
  // Examine the target itself: a clone has its own copies of pages to which the target has written
  // since.
  if (with_memory_ && target_.process) {
    held_.memory = HA_TRY(see_memory(*target_.process, held_.index(),
                                     target_.heaps.front()->shape(), threads, held_.fibers));
  }
  return true;
}

void Copying::add_fibers(const std::vector<FrozenThread>& threads) {
  if (target_.runtime == "crystal") {
    held_.fibers =
        crystal::suspended_fibers(target_.fibers, held_.index(), held_.capture, held_.map, threads);
  }
  for (const crystal::FiberStack& fiber : held_.fibers) add_fiber(fiber);
}

// Copies all memory, because the heaps that the program frees by hand are found only in the copy.
Result<std::vector<Range>> Copying::add_everything() {
  held_.private_memory = plan_private_copy(target_, source_.process, held_.map);
  if (held_.is_clone && target_.process) note_uncopied(*target_.process, held_.private_memory);
  PrivateMemory& plan = held_.private_memory;
  HA_TRY(held_.capture.add_parts(source_.memory, plan.ranges, plan.touched, limits_));
  if (!plan.forbidden.empty()) {
    const LiveMemory memory(*source_.process, HA_TRY(LiveMemory::open_mem(*source_.process)),
                            LiveMemory::By::MemFile);
    HA_TRY(held_.capture.fill(memory, plan.forbidden, limits_));
    plan.touched.insert(plan.touched.end(), plan.forbidden.begin(), plan.forbidden.end());
    std::sort(plan.touched.begin(), plan.touched.end());
  }
  // Before a clone was made, they were copied from the process.
  if (!held_.is_clone) {
    held_.others =
        HA_TRY(copy_other_references(target_, held_.map, descriptors_, limits_, held_.capture));
  }
  std::vector<Range> copied = plan.ranges;
  copied.insert(copied.end(), held_.others.shared.begin(), held_.others.shared.end());
  std::sort(copied.begin(), copied.end());
  return copied;
}

Result<std::vector<Range>> Copying::add_heap(std::vector<Range> heap) {
  if (source_.window_room) {
    Fd mem = HA_TRY(LiveMemory::open_mem(*source_.process));
    const std::size_t window = window_bytes(held_.index(), in_use_, *source_.window_room);
    HA_TRY(held_.capture.add_window(std::move(mem), heap, window));
    return heap;
  }
  HA_TRY(add_contents(heap));
  if (!with_contents_) return heap;
  const std::vector<Range> rest = heap::rest_of_contents(held_.index(), heap);
  HA_TRY(add_contents(rest));
  heap.insert(heap.end(), rest.begin(), rest.end());
  std::sort(heap.begin(), heap.end());
  return heap;
}

// Adds ranges, and skips untouched pages, which have no contents. Finding these takes time, so it
// is done only if there must be many.
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

// Adds a fiber's stack. A running fiber has its thread's stack range. The collector learns the end
// of that range only when a collection begins, and until then may have the end of an earlier fiber,
// so the end is taken from the fiber. The first thread's range remains a Stack, because most of it
// is the thread's own.
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
