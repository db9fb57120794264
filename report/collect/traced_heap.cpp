#include "report/collect/traced_heap.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/collect/malloc_heap.h"
#include "report/collect/stale_words.h"
#include "report/collect/unscanned_memory.h"
#include "report/parallel.h"
#include "symbols/boehm/churn.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/live.h"
#include "symbols/boehm/marking_rules.h"
#include "symbols/boehm/stack_bases.h"
#include "symbols/heap/by_hand.h"

namespace heapattach::snapshot {

namespace {

unsigned workers_on(const heap::Heap& heap) {
  return workers_for(heap.blocks().size(), heap.most_readers());
}

std::string unless_explained(const StaleWords& stale) {
  if (stale.unread() == 0) return {};
  return fmt::format(", or unused parts of {} stacks, which there was no time to read, explain it",
                     stale.unread());
}

// Counts the objects that are missing for no known reason and that an unseen root may keep alive,
// because a word somewhere in the target's memory references them. The last references to the
// others are gone: the program has dropped them.
std::uint64_t count_possible(const Target& target,
                             const HeldHeap& held,
                             const Deadline& deadline,
                             const heap::Heap& heap,
                             const heap::LiveSet& found,
                             const heap::ObjectSet& dropped) {
  const auto parts =
      boehm::has_plain_pointers(heap) ? unscanned_memory(target, held) : std::nullopt;
  StaleWords memory(heap, found);
  if (parts) memory.read(*parts, target.memory, deadline);
  const bool is_all = parts && memory.unread() == 0 && memory.unreadable() == 0;
  if (!is_all) return boehm::count_unexplained(heap, found, dropped);
  const heap::RootWords words = memory.words();
  const auto possible = boehm::reachable_from(heap, found, {&words, 1}, workers_on(heap));
  return boehm::count_unexplained(heap, found, dropped, &possible);
}

// Without symbols it may be unknown how the collector scans stacks.
void check_stack_bases(const Target& target,
                       const HeldHeap& held,
                       heap::Heap& heap,
                       heap::LiveSet& found) {
  const bool is_known = target.collector.incremental.has_value() ||
                        heap.rules()->finds_bases_from_stacks || !heap.recognises_interior();
  const std::uint64_t count =
      is_known ? 0 : boehm::count_held_past_first_page(heap, held.capture, found);
  if (count == 0) return;
  found.problems.push_back(fmt::format(
      "{} large object{} may be missing: only words on stacks that point past the first "
      "page reference {}, and the collector's mode, which decides whether that counts, is "
      "unknown without its symbols",
      count, count == 1 ? "" : "s", count == 1 ? "it" : "them"));
}

// Compares the live set with the marks of the last collection, if nothing was allocated since. The
// live set is incomplete if it lacks more objects than the program can have dropped.
void compare_with_marks(const Target& target,
                        const HeldHeap& held,
                        const TakeOptions& options,
                        const heap::Heap& heap,
                        heap::LiveSet& found) {
  constexpr std::uint64_t kFew = 100;
  constexpr std::uint64_t kShare = 10;
  const heap::Counters& counters = held.counters();
  const bool is_fresh = counters.allocated == 0U && counters.collections.value_or(0) > 0 &&
                        !counters.collecting.value_or(true) && !counters.incremental.value_or(true);
  if (!is_fresh) return;
  const boehm::MarkComparison compared = boehm::compare_with_marks(heap, found);
  if (compared.blocks == 0) return;
  const auto are_many = [&](std::uint64_t missing) {
    return missing > kFew && missing > compared.marked / kShare;
  };
  if (are_many(compared.missing)) {
    StaleWords stale(heap, found);
    stale.read(stale_stacks(held), target.memory, options.request.deadline);
    const heap::RootWords words = stale.words();
    const auto dropped =
        boehm::dropped_since_collection(heap, found, {&words, 1}, workers_on(heap));
    std::uint64_t unexplained = boehm::count_unexplained(heap, found, dropped);
    if (are_many(unexplained)) {
      unexplained = count_possible(target, held, options.request.deadline, heap, found, dropped);
    }
    if (are_many(unexplained)) {
      found.problems.push_back(
          fmt::format("{} of {} objects that the last collection marked in {} blocks were not "
                      "found, although nothing was allocated since: some roots were not seen{}",
                      unexplained, compared.marked, compared.blocks, unless_explained(stale)));
      return;
    }
  }
  options.request.note(
      fmt::format("{} of {} objects that the last collection marked in {} blocks were not "
                  "found; {} were found that it did not mark",
                  compared.missing, compared.marked, compared.blocks, compared.unmarked));
}

// The blocks of all heaps.
Result<std::unique_ptr<const heap::JoinedBlocks>> join_heaps(const Target& target,
                                                             const HeldHeap& held) {
  std::vector<heap::Part> parts;
  for (std::size_t i = 0; i < target.heaps.size(); ++i) {
    parts.push_back({&target.heaps[i]->kind(), &held.heaps[i].index});
  }
  return std::make_unique<const heap::JoinedBlocks>(HA_TRY(heap::join_blocks(parts)));
}

// Adds the heaps that the program frees by hand to the collector's, which was traced before.
void add_by_hand(const HeldHeap& held, const heap::Heap& collector, TracedHeap& traced) {
  heap::Shape shape = collector.shape();
  shape.shares_pages = true;
  auto heap =
      std::make_unique<heap::Heap>(traced.blocks->index, shape, held.capture, collector.rules());
  heap->hide({collector.hidden().begin(), collector.hidden().end()});
  traced.found =
      heap::renumber(std::move(traced.found), collector, *heap, traced.blocks->places.front());
  traced.beside = heap::find_live_beside(traced.found, *heap, held.capture, held.roots_by_hand,
                                         held.freeze.threads, workers_on(*heap));
  traced.heap = std::move(heap);
}

// Crystal allocates a stack for its handler of SIGSEGV, which only the kernel references
// (setup_segfault_handler). The kernel does not show its address, but its size is known. If several
// unreferenced allocations have that size, none of them is taken for it, because one may be a leak.
void keep_signal_stack(const Target& target, TracedHeap& traced) {
  constexpr std::uint64_t kStackBytes = 8192;
  if (target.runtime != "crystal" || !target.has_by_hand()) return;
  const heap::Heap& heap = *traced.heap;
  heap::ObjectSet& live = traced.beside ? traced.beside->live : traced.found.live;
  std::vector<heap::ObjectRef> found;
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const bool is_large_enough = heap.blocks()[block].object_bytes == kStackBytes + 8;
    const bool is_candidate = heap.is_chunk(block) && is_large_enough;
    if (is_candidate && !live.contains(heap.number({block, 0}))) found.push_back({block, 0});
  }
  if (found.size() != 1) return;
  live.insert(heap.number(found.front()));
  traced.signal_stack = found.front();
}

// Calls visit(ref) for each object of `set` that is the collector's.
template <class Visit>
void for_each_of_collector(const heap::Heap& heap, const heap::ObjectSet& set, const Visit& visit) {
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    if (!heap.is_chunk(block)) heap::for_each_object(heap, set, block, block + 1, visit);
  }
}

}  // namespace

std::vector<heap::ObjectRef> TracedHeap::garbage() const {
  std::vector<heap::ObjectRef> garbage;
  if (!beside) return garbage;
  for_each_of_collector(*heap, beside->live, [&](heap::ObjectRef ref) { garbage.push_back(ref); });
  return garbage;
}

heap::ObjectSet TracedHeap::live() const {
  heap::ObjectSet all = found.live;
  if (!beside) return all;
  heap::ObjectSet of_malloc = beside->live;
  of_malloc.remove(of_collector(of_malloc));
  all.add(of_malloc);
  return all;
}

heap::ObjectSet TracedHeap::of_collector(heap::ObjectSet objects) const {
  if (!beside) return objects;
  heap::ObjectSet some(*heap);
  for_each_of_collector(*heap, objects,
                        [&](heap::ObjectRef ref) { some.insert(heap->number(ref)); });
  return some;
}

Result<TracedHeap> trace_heap(const Target& target,
                              const HeldHeap& held,
                              const TakeOptions& options) {
  heap::Source& first = *target.heaps.front();
  auto blocks = target.heaps.size() > 1 ? HA_TRY(join_heaps(target, held)) : nullptr;
  const bool is_collected = first.kind().is_collected;
  const bool is_joined = !is_collected && blocks != nullptr;
  auto heap = std::make_unique<heap::Heap>(is_joined ? blocks->index : held.index(), first.shape(),
                                           held.capture);
  heap::LiveSet found =
      first.mark(*heap, copied_of(target, held), is_collected ? held.roots : held.roots_by_hand,
                 workers_on(*heap));
  if (is_collected) {
    check_stack_bases(target, held, *heap, found);
    compare_with_marks(target, held, options, *heap, found);
  }
  TracedHeap traced{std::move(blocks), nullptr, std::move(found), std::nullopt, std::nullopt};
  if (is_collected && target.has_by_hand()) {
    add_by_hand(held, *heap, traced);
  } else {
    traced.heap = std::move(heap);
  }
  keep_signal_stack(target, traced);
  return traced;
}

}  // namespace heapattach::snapshot
