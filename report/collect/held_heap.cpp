#include "report/collect/held_heap.h"

#include <algorithm>
#include <utility>

#include "symbols/heap/by_hand.h"
#include "symbols/heap/joined.h"
#include "symbols/heap/ranges.h"

namespace heapattach::snapshot {

namespace {

void append(std::span<const Range> more, std::vector<Range>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::uint64_t unaccounted_bytes(const HeldHeap& held) {
  if (!held.counters().heap_bytes) return 0;
  const std::uint64_t listed = held.index().used_bytes + held.index().free_bytes;
  const std::uint64_t counted = *held.counters().heap_bytes;
  return std::max(listed, counted) - std::min(listed, counted);
}

heap::Copied copied_of(const Target& target, const HeldHeap& held, const Request& request) {
  return {.modules = target.modules,
          .map = held.map,
          .capture = held.capture,
          .outside = target.memory,
          .threads = held.freeze.threads,
          .pid = target.pid(),
          .touched = held.private_memory.touched,
          .note = [&request](std::string_view text) { request.note(text); },
          .deadline = request.deadline};
}

Result<void> read_heaps(const Target& target, const Request& request, HeldHeap& held) {
  const heap::Copied copied = copied_of(target, held, request);
  heap::Taken taken;
  std::vector<Range> own;
  for (std::size_t i = 0; i < target.heaps.size(); ++i) {
    heap::Contents& contents = held.heaps[i];
    HA_TRY(target.heaps[i]->read(copied, taken, contents));
    append(contents.own, own);
    if (i + 1 == target.heaps.size()) break;
    append(target.heaps[i]->kind().is_collected ? heap::memory_of(contents.index) : contents.own,
           taken.blocks);
    taken.blocks = heap::joined(std::move(taken.blocks));
    // If a collector has moved the break, its memory is between pieces of malloc's memory.
    append(taken.blocks, taken.foreign);
    append(contents.index.headers, taken.foreign);
    taken.foreign = heap::joined(std::move(taken.foreign));
  }
  const PrivateMemory& copy = held.private_memory;
  held.heaps.back().unread.insert(held.heaps.back().unread.end(), copy.unread.begin(),
                                  copy.unread.end());
  std::vector<Range> touched = copy.touched;
  append(held.others.shared, touched);
  std::sort(touched.begin(), touched.end());
  held.roots_by_hand =
      heap::find_roots(own, held.map, copy.read_only, touched, held.freeze.threads);
  held.roots_by_hand.insert(held.roots_by_hand.end(), held.others.roots.begin(),
                            held.others.roots.end());
  auto& facts = held.heaps.back().facts;
  facts.insert(facts.end(), held.others.unsearched.begin(), held.others.unsearched.end());
  return {};
}

}  // namespace heapattach::snapshot
