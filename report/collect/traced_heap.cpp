#include "report/collect/traced_heap.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/collect/stale_words.h"
#include "report/collect/unscanned_memory.h"
#include "report/parallel.h"
#include "symbols/boehm/churn.h"
#include "symbols/boehm/marking_rules.h"
#include "symbols/boehm/stack_bases.h"
#include "symbols/malloc/live.h"

namespace heapattach::snapshot {

namespace {

boehm::LiveSet find_live(const Target& target, const HeldHeap& held, boehm::Heap& heap) {
  const unsigned workers = workers_for(heap.blocks().size());
  if (target.is_malloc) {
    return glibc::find_live(heap, held.capture, held.roots, held.freeze.threads, workers);
  }
  boehm::Roots roots;
  roots.ranges = held.roots;
  roots.threads = held.freeze.threads;
  roots.collector_data = target.collector_data;
  roots.tables = held.root_tables;
  roots.kinds = target.collector.kinds;
  roots.pid = target.pid();
  if (const auto at = target.collector.stack_bottom) {
    if (const auto bottom = held.capture.read_as<std::uint64_t>(*at)) {
      roots.stack_bottom = RemoteAddr{*bottom};
    }
  }
  return boehm::find_live(heap, held.capture, std::move(roots), held.map, workers);
}

std::string unless_explained(const StaleWords& stale) {
  if (stale.unread() == 0) return {};
  return fmt::format(", or unused parts of {} stacks, which there was no time to read, explain it",
                     stale.unread());
}

// Of the objects that are missing for no known reason, those that a root which was not seen could
// keep alive: a word somewhere in the target's memory leads to them. The program has dropped the
// others, whose last reference is gone.
std::uint64_t count_possible(const Target& target,
                             const HeldHeap& held,
                             const Deadline& deadline,
                             const boehm::Heap& heap,
                             const boehm::LiveSet& found,
                             const boehm::ObjectSet& dropped) {
  const auto parts =
      boehm::has_plain_pointers(heap) ? unscanned_memory(target, held) : std::nullopt;
  StaleWords memory(heap, found);
  if (parts) memory.read(*parts, target.memory, deadline);
  const bool is_all = parts && memory.unread() == 0 && memory.unreadable() == 0;
  if (!is_all) return boehm::count_unexplained(heap, found, dropped);
  const boehm::RootWords words = memory.words();
  const auto possible =
      boehm::reachable_from(heap, found, {&words, 1}, workers_for(heap.blocks().size()));
  return boehm::count_unexplained(heap, found, dropped, &possible);
}

// Without symbols it may be unknown how the collector scans stacks.
void check_stack_bases(const Target& target,
                       const HeldHeap& held,
                       boehm::Heap& heap,
                       boehm::LiveSet& found) {
  const bool is_known = target.collector.incremental.has_value() ||
                        heap.rules().finds_bases_from_stacks || !heap.recognises_interior();
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
                        const boehm::Heap& heap,
                        boehm::LiveSet& found) {
  constexpr std::uint64_t kFew = 100;
  constexpr std::uint64_t kShare = 10;
  const boehm::Counters& counters = held.counters;
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
    stale.read(stale_stacks(held), target.memory, options.deadline);
    const boehm::RootWords words = stale.words();
    const auto dropped = boehm::dropped_since_collection(heap, found, {&words, 1},
                                                         workers_for(heap.blocks().size()));
    std::uint64_t unexplained = boehm::count_unexplained(heap, found, dropped);
    if (are_many(unexplained)) {
      unexplained = count_possible(target, held, options.deadline, heap, found, dropped);
    }
    if (are_many(unexplained)) {
      found.problems.push_back(
          fmt::format("{} of {} objects that the last collection marked in {} blocks were not "
                      "found, although nothing was allocated since: some roots were not seen{}",
                      unexplained, compared.marked, compared.blocks, unless_explained(stale)));
      return;
    }
  }
  if (options.note) {
    options.note(
        fmt::format("{} of {} objects that the last collection marked in {} blocks were not "
                    "found; {} were found that it did not mark",
                    compared.missing, compared.marked, compared.blocks, compared.unmarked));
  }
}

// Puts malloc's heap beside the collector's, which was traced before.
Result<void> add_malloc(const Target& target,
                        const HeldHeap& held,
                        const boehm::Heap& collector,
                        TracedHeap& traced) {
  traced.blocks = std::make_unique<const glibc::BothBlocks>(
      HA_TRY(glibc::join_blocks(held.index, held.malloc->index)));
  boehm::Layout layout = target.collector.layout;
  layout.shares_pages = true;
  auto heap = std::make_unique<boehm::Heap>(traced.blocks->index, layout, held.capture);
  heap->follow(collector.rules());
  heap->hide({collector.hidden().begin(), collector.hidden().end()});
  traced.found = glibc::renumber(std::move(traced.found), collector, *heap, *traced.blocks);
  traced.beside = glibc::find_live_beside(traced.found, *heap, held.capture, held.malloc_roots,
                                          held.freeze.threads, workers_for(heap->blocks().size()));
  traced.heap = std::move(heap);
  return {};
}

// Crystal allocates a stack for its handler of SIGSEGV, and tells only the kernel where it is
// (setup_segfault_handler). The kernel does not tell us, but there is one, nothing else references
// it, and its size is known. If several such allocations have that size, none is taken for it: a
// leak must not pass for it.
void keep_signal_stack(const Target& target, TracedHeap& traced) {
  constexpr std::uint64_t kStackBytes = 8192;
  if (target.runtime != "crystal" || !target.reads_malloc()) return;
  const boehm::Heap& heap = *traced.heap;
  boehm::ObjectSet& live = traced.beside ? traced.beside->live : traced.found.live;
  std::vector<boehm::ObjectRef> found;
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
void for_each_of_collector(const boehm::Heap& heap,
                           const boehm::ObjectSet& set,
                           const Visit& visit) {
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    if (!heap.is_chunk(block)) boehm::for_each_object(heap, set, block, block + 1, visit);
  }
}

}  // namespace

std::vector<boehm::ObjectRef> TracedHeap::garbage() const {
  std::vector<boehm::ObjectRef> garbage;
  if (!beside) return garbage;
  for_each_of_collector(*heap, beside->live, [&](boehm::ObjectRef ref) { garbage.push_back(ref); });
  return garbage;
}

boehm::ObjectSet TracedHeap::live() const {
  boehm::ObjectSet all = found.live;
  if (!beside) return all;
  boehm::ObjectSet of_malloc = beside->live;
  of_malloc.remove(of_collector(of_malloc));
  all.add(of_malloc);
  return all;
}

boehm::ObjectSet TracedHeap::of_collector(boehm::ObjectSet objects) const {
  if (!beside) return objects;
  boehm::ObjectSet some(*heap);
  for_each_of_collector(*heap, objects,
                        [&](boehm::ObjectRef ref) { some.insert(heap->number(ref)); });
  return some;
}

Result<TracedHeap> trace_heap(const Target& target,
                              const HeldHeap& held,
                              const TakeOptions& options) {
  auto heap = std::make_unique<boehm::Heap>(held.index, target.collector.layout, held.capture);
  if (!target.is_malloc) {
    heap->follow(boehm::read_marking_rules(*heap, target.collector, target.collector_data,
                                           held.capture, target.memory));
  }
  boehm::LiveSet found = find_live(target, held, *heap);
  if (!target.is_malloc) {
    check_stack_bases(target, held, *heap, found);
    compare_with_marks(target, held, options, *heap, found);
  }
  TracedHeap traced{nullptr, nullptr, std::move(found), std::nullopt, std::nullopt};
  if (target.is_both) {
    HA_TRY(add_malloc(target, held, *heap, traced));
  } else {
    traced.heap = std::move(heap);
  }
  keep_signal_stack(target, traced);
  return traced;
}

}  // namespace heapattach::snapshot
