#include "report/collect/heap_account.h"

#include <algorithm>

namespace heapattach::snapshot {

namespace {

// The account of heap number `number`.
std::optional<HeapAccount> heap_account(const Snapshot& snapshot, std::size_t number) {
  const Heap& from = snapshot.heaps[number];
  HeapAccount heap;
  heap.kind = &from.kind();
  snapshot.for_each_alike([&](const Object& object, std::uint64_t count) {
    if (object.heap != number) return;
    (object.is_reachable != 0 ? heap.live : heap.unreachable) += count * snapshot.bytes_of(object);
  });
  if (!from.heap_bytes || !from.free_bytes) {
    heap.has_totals = false;
    const bool is_empty = heap.live + heap.unreachable == 0;
    return is_empty ? std::nullopt : std::optional(heap);
  }
  heap.heap = *from.heap_bytes;
  heap.facts = from.facts;
  heap.remark = from.remark;
  const std::uint64_t free = std::min(*from.free_bytes, heap.heap);
  heap.unmapped = std::min(from.unmapped_bytes.value_or(0), free);
  heap.free = free - heap.unmapped;
  // If a heap was read without a freeze, its numbers may contradict each other; the difference is
  // then 0.
  const std::uint64_t in_use = heap.heap - free;
  heap.fragmented_known = !snapshot.header.live_only || from.leaked_bytes.has_value();
  if (snapshot.header.live_only && from.leaked_bytes) {
    heap.unreachable = std::min(*from.leaked_bytes, in_use - std::min(in_use, heap.live));
  }
  const std::uint64_t rest = in_use - std::min(in_use, heap.live + heap.unreachable);
  (heap.fragmented_known ? heap.fragmented : heap.unreachable) += rest;
  return heap;
}

}  // namespace

std::vector<std::optional<HeapAccount>> heap_accounts(const Snapshot& snapshot) {
  std::vector<std::optional<HeapAccount>> accounts;
  for (std::size_t i = 0; i < snapshot.heaps.size(); ++i) {
    accounts.push_back(heap_account(snapshot, i));
  }
  return accounts;
}

}  // namespace heapattach::snapshot
