#include "report/collect/traced_heap.h"

#include <utility>

#include "report/parallel.h"
#include "symbols/heap/by_hand.h"

namespace heapattach::snapshot {

namespace {

unsigned workers_on(const heap::Heap& heap) {
  return workers_for(heap.blocks().size(), heap.most_readers());
}

// The blocks of all heaps.
Result<std::unique_ptr<const heap::JoinedBlocks>> join_heaps(const Target& target,
                                                             const HeldHeap& held) {
  std::vector<heap::Part> parts;
  for (std::size_t i = 0; i < target.heaps.size(); ++i) {
    const heap::Source& one = *target.heaps[i];
    parts.push_back({&one.kind(), &held.heaps[i].index, one.shape().sizes});
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

// Calls visit(ref) for each object of the collector in `set`.
template <class Visit>
void for_each_of_collector(const heap::Heap& heap, const heap::ObjectSet& set, const Visit& visit) {
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    if (!heap.is_chunk(block)) heap::for_each_object(heap, set, block, block + 1, visit);
  }
}

// The collector's objects of `set`.
heap::ObjectSet without_chunks(const heap::Heap& heap, const heap::ObjectSet& set) {
  heap::ObjectSet some(heap);
  for_each_of_collector(heap, set, [&](heap::ObjectRef ref) { some.insert(heap.number(ref)); });
  return some;
}

// Traces a collector's heap, whose roots are not known, together with the heaps that the program
// frees by hand, because the objects of both reference each other.
TracedHeap trace_together(const Target& target,
                          const HeldHeap& held,
                          const Request& request,
                          std::unique_ptr<const heap::JoinedBlocks> blocks) {
  heap::Source& first = *target.heaps.front();
  heap::Shape shape = first.shape();
  shape.shares_pages = true;
  auto heap = std::make_unique<heap::Heap>(blocks->index, shape, held.capture);
  heap::LiveSet all =
      first.mark(*heap, copied_of(target, held, request), held.roots_by_hand, workers_on(*heap));
  TracedHeap traced{std::move(blocks), std::move(heap), std::move(all), std::nullopt, std::nullopt};
  traced.found.live = without_chunks(*traced.heap, traced.found.live);
  traced.beside =
      heap::find_live_beside(traced.found, *traced.heap, held.capture, held.roots_by_hand,
                             held.freeze.threads, workers_on(*traced.heap));
  return traced;
}

// Keeps the stack that Crystal allocates for its handler of SIGSEGV (setup_segfault_handler), and
// that only the kernel references. The kernel does not show its address, but its size is known;
// glibc's malloc and musl's older one round it up. If several unreferenced allocations have that
// size, none of them is kept, because one may be a leak.
void keep_signal_stack(const Target& target, TracedHeap& traced) {
  constexpr std::uint64_t kStackBytes = 8192;
  constexpr std::uint64_t kMostRounded = 16;
  if (target.runtime != "crystal" || !target.has_by_hand()) return;
  const heap::Heap& heap = *traced.heap;
  heap::ObjectSet& live = traced.beside ? traced.beside->live : traced.found.live;
  std::vector<heap::ObjectRef> found;
  for (std::uint32_t block = 0; block < heap.blocks().size(); ++block) {
    const std::uint64_t bytes = heap.blocks()[block].object_bytes;
    const bool fits = bytes >= kStackBytes && bytes <= kStackBytes + kMostRounded;
    const bool is_candidate = heap.is_chunk(block) && fits;
    if (is_candidate && !live.contains(heap.number({block, 0}))) found.push_back({block, 0});
  }
  if (found.size() != 1) return;
  live.insert(heap.number(found.front()));
  traced.signal_stack = found.front();
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

heap::ObjectSet TracedHeap::of_collector(const heap::ObjectSet& objects) const {
  return beside ? without_chunks(*heap, objects) : objects;
}

Result<TracedHeap> trace_heap(const Target& target, const HeldHeap& held, const Request& request) {
  heap::Source& first = *target.heaps.front();
  auto blocks = target.heaps.size() > 1 ? HA_TRY(join_heaps(target, held)) : nullptr;
  const bool is_collected = first.kind().is_collected;
  if (is_collected && blocks && !first.has_known_roots()) {
    return trace_together(target, held, request, std::move(blocks));
  }
  const bool is_joined = !is_collected && blocks != nullptr;
  auto heap = std::make_unique<heap::Heap>(is_joined ? blocks->index : held.index(), first.shape(),
                                           held.capture);
  heap::LiveSet found =
      first.mark(*heap, copied_of(target, held, request),
                 is_collected ? held.roots : held.roots_by_hand, workers_on(*heap));
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
