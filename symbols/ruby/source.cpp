#include "symbols/ruby/source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "symbols/heap/by_hand.h"
#include "symbols/heap/joined.h"
#include "symbols/heap/ranges.h"
#include "symbols/ruby/buffers.h"
#include "symbols/ruby/copy_first.h"
#include "symbols/ruby/object_names.h"

namespace heapattach::ruby {

namespace {

constexpr unsigned kWorkers = 1;  // that read the copy

// Ruby frees the buffers of a dead object only when it clears the object's slot.
struct Rules final : heap::ScanRules {
  explicit Rules(heap::ObjectSet unused) : free(std::move(unused)) {}

  [[nodiscard]] bool may_use_dead(const heap::Heap& heap, heap::ObjectRef ref) const override {
    return !free.contains(heap.number(ref));
  }

  heap::ObjectSet free;
};

// The slots of `heap` that contain no object of `copy`.
heap::ObjectSet free_slots(const heap::Heap& heap, const HeapCopy& copy) {
  heap::ObjectSet used(heap);
  copy.for_each([&](const HeapCopy::Object& object) {
    if (const auto ref = heap.object_at(object.address)) used.insert(heap.number(*ref));
  });
  heap::ObjectSet free(heap);
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    if (heap.is_chunk(block)) continue;
    for (std::uint32_t slot = 0; slot < heap.blocks()[block].objects; ++slot) {
      const std::uint64_t number = heap.number({block, slot});
      if (!used.contains(number)) free.insert(number);
    }
  }
  return free;
}

}  // namespace

heap::Counters Source::counters(const MemoryReader& memory) const {
  heap::Counters counters;
  if (const auto pages = count_pages(machine_, memory)) {
    counters.heap_bytes = *pages * machine_.layout->page_bytes;
  }
  return counters;
}

heap::BlockIndex Source::index_of(const std::vector<HeapPage>& pages) const {
  heap::BlockIndex index;
  for (const HeapPage& page : pages) {
    index.blocks.push_back({.start = page.start,
                            .object_bytes = page.slot_bytes,
                            .descriptor = page.slot_bytes,
                            .objects = page.slots});
  }
  index.used_bytes = pages.size() * machine_.layout->page_bytes;
  return index;
}

std::vector<Range> Source::memory_of(const std::vector<HeapPage>& pages) const {
  const std::uint64_t bytes = machine_.layout->page_bytes;
  std::vector<Range> memory;
  for (const HeapPage& page : pages) {
    memory.push_back({RemoteAddr{page.start.value - page.start.value % bytes}, bytes});
  }
  return heap::joined(std::move(memory));
}

Result<heap::CopyPlan> Source::plan(const heap::Surroundings& target,
                                    std::span<const FrozenThread> /*threads*/,
                                    std::uint64_t /*in_use*/,
                                    heap::Contents& contents) {
  heap::CopyPlan plan;
  const auto list = list_pages(machine_, target.memory, {kWorkers, target.deadline.at});
  if (!list && list.error().kind != ErrorKind::Malformed) return list.error();
  plan.is_settled = list.has_value();
  if (!list) return plan;
  contents.index = index_of(list->pages);
  plan.contents = memory_of(list->pages);
  return plan;
}

Result<void> Source::read(const heap::Copied& copied,
                          const heap::Taken& /*taken*/,
                          heap::Contents& contents) {
  copy_.reset();
  outside_ = &copied.outside;
  const CopyFirst memory(copied.capture, copied.outside);
  const std::uint64_t pages = HA_TRY(count_pages(machine_, memory));
  auto copy = std::make_unique<HeapCopy>(
      HA_TRY(Arena::reserve(HeapCopy::bytes_for(machine_, pages), 0)), HeapCopy::Uncleared::Listed);
  const auto read = copy->copy(machine_, memory, {kWorkers, copied.deadline.at});
  if (read) {
    copy_ = std::move(copy);
    take_copy(contents);
    return {};
  }
  if (read.error().kind != ErrorKind::Malformed) return read.error();
  contents.problems.push_back(read.error().message());
  contents.own = heap::memory_of(contents.index);
  return {};
}

void Source::take_copy(heap::Contents& contents) const {
  contents.index = index_of(copy_->pages());
  contents.own = memory_of(copy_->pages());
  std::uint64_t free = 0;
  for (const HeapPage& page : copy_->pages()) free += std::uint64_t{page.slots} * page.slot_bytes;
  copy_->for_each(
      [&](const HeapCopy::Object& object) { free -= copy_->slot_bytes_of(object.address); });
  contents.counters.heap_bytes = contents.index.used_bytes;
  contents.counters.free_bytes = free;
  contents.counters.unmapped_bytes = 0;
  contents.counters.collecting = copy_->is_collecting();
  if (copy_->misfits() > 0) {
    contents.unread.push_back(
        fmt::format("{} of Ruby's slots could not be decoded", copy_->misfits()));
  }
}

heap::LiveSet Source::mark(heap::Heap& heap,
                           const heap::Copied& copied,
                           std::vector<heap::RootRange> roots,
                           unsigned workers) {
  heap::ObjectSet free = copy_ ? free_slots(heap, *copy_) : heap::ObjectSet(heap);
  heap.follow(std::make_shared<const Rules>(free));
  if (copy_) heap.hide(unwritten_parts(heap, *copy_, machine_.layout->values));
  return heap::find_reachable(heap, copied.capture, std::move(roots), copied.threads, workers,
                              std::move(free));
}

void Source::name_objects(const runtimes::HeapView& view, runtimes::ObjectNames& names) const {
  if (copy_) ruby::name_objects({machine_, *copy_, *outside_}, view, names);
}

Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target) {
  auto ruby = find_interpreter(target.modules, target.memory);
  if (!ruby) return Error{ErrorKind::Unsupported, "the process does not run Ruby 2.7 or later"};
  if (target.is_alone) return Error{ErrorKind::Unsupported, "a dump by Ruby itself is better"};
  target.note(fmt::format("{} in {}", ruby->description, ruby->module));
  auto machine = find_machine(target.modules, target.memory, *ruby);
  // The process has a heap of Ruby's, so no other heap may be taken for its own.
  if (!machine) {
    Error why = std::move(machine).error();
    if (why.kind == ErrorKind::Unsupported) why.kind = ErrorKind::Impossible;
    return why;
  }
  return std::unique_ptr<heap::Source>(
      std::make_unique<Source>(std::move(*ruby), *std::move(machine)));
}

}  // namespace heapattach::ruby
