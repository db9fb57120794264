// Memory of malloc's that is free between allocations: malloc uses it again, but cannot return it.
// A program that has just freed something always has some. It counts from 16 MiB and half of the
// heap, and only if it is resident: malloc_trim() gives back whole pages in between, and arenas
// have pages that were never written to. It is no fault, because the program may need the memory
// again.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

std::uint64_t fact_of(const snapshot::HeapAccount& heap, std::string_view key) {
  const auto found = std::find_if(heap.facts.begin(), heap.facts.end(),
                                  [&](const auto& fact) { return fact.key == key; });
  return found == heap.facts.end() ? 0 : found->number;
}

// How much more anonymous memory is resident than is in use; everything if that is unknown.
std::uint64_t free_resident(const Evidence& evidence, std::uint64_t in_use) {
  if (!evidence.memory) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t resident = evidence.memory->total.resident_bytes -
                                 evidence.memory->of(snapshot::MemoryUse::Files).resident_bytes;
  return resident - std::min(resident, in_use);
}

}  // namespace

void find_fragmented(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastFree = 16U << 20U;
  for (const snapshot::HeapAccount& heap : evidence.heaps) {
    const std::uint64_t free = fact_of(heap, "bin_bytes");
    const std::uint64_t arenas =
        heap.heap - std::min(heap.heap, fact_of(heap, "mapped_allocation_bytes"));
    if (free < kLeastFree || free < arenas / 2) continue;
    if (free_resident(evidence, heap.heap - std::min(heap.heap, free)) < free / 4 * 3) continue;
    found.push_back(
        {.kind = "fragmented",
         .severity = Severity::Unusual,
         .sentence = fmt::format(
             "fragmented: {} of the {} in {} heap are free, but lie between allocations and cannot "
             "be returned to the system",
             human_bytes(free), human_bytes(arenas), whose(*heap.kind)),
         .evidence = {fmt::format("in use: {}; free at the ends of arenas: {}; arenas: {}",
                                  human_bytes(heap.live + heap.unreachable),
                                  human_bytes(fact_of(heap, "top_bytes")),
                                  fact_of(heap, "arenas"))},
         .next = "summary " + evidence.source});
  }
}

}  // namespace heapattach::diagnose
