// Memory of malloc's that is free between allocations. A program that has just freed something
// always has some. It counts from 16 MiB and half of the heap, and only if it is resident: arenas
// have pages that were never written to. malloc keeps whole free pages, too, until somebody calls
// malloc_trim(), so the finding says how much that would return. It is no fault, because the
// program may need the memory again. musl's malloc has no arenas and no malloc_trim().

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

std::optional<std::uint64_t> known_fact(const snapshot::HeapAccount& heap, std::string_view key) {
  const auto found = std::find_if(heap.facts.begin(), heap.facts.end(),
                                  [&](const auto& fact) { return fact.key == key; });
  if (found == heap.facts.end()) return std::nullopt;
  return found->number;
}

std::uint64_t fact_of(const snapshot::HeapAccount& heap, std::string_view key) {
  return known_fact(heap, key).value_or(0);
}

// How much more anonymous memory is resident than is in use; all that is free if that is unknown.
std::uint64_t free_resident(const Evidence& evidence, std::uint64_t in_use, std::uint64_t free) {
  if (!evidence.memory) return free;
  const std::uint64_t resident = evidence.memory->total.resident_bytes -
                                 evidence.memory->of(snapshot::MemoryUse::Files).resident_bytes;
  return std::min(free, resident - std::min(resident, in_use));
}

Finding finding_of(const snapshot::HeapAccount& heap, std::uint64_t arenas, std::uint64_t pages) {
  const std::uint64_t free = fact_of(heap, "fragmented_bytes");
  const std::string amount = fmt::format("{} of the {} in {} heap are free", human_bytes(free),
                                         human_bytes(arenas), whose(*heap.kind));
  Finding finding{
      .kind = {},
      .severity = Severity::Unusual,
      .sentence = {},
      .evidence = {fmt::format("in use: {}; free at the ends of arenas: {}; arenas: {}",
                               human_bytes(heap.live + heap.unreachable),
                               human_bytes(fact_of(heap, "top_bytes")), fact_of(heap, "arenas"))},
      .next = {}};
  if (!known_fact(heap, "arenas")) {
    finding.kind = "fragmented";
    finding.sentence = fmt::format("fragmented: {}, between allocations in use", amount);
    finding.evidence = {fmt::format("in use: {}", human_bytes(heap.live + heap.unreachable))};
    return finding;
  }
  if (pages >= free / 2) {
    finding.kind = "untrimmed";
    finding.sentence =
        fmt::format("free but kept: {}; malloc_trim(0) would return about {} of them to the system",
                    amount, human_bytes(pages));
    return finding;
  }
  finding.kind = "fragmented";
  finding.sentence = fmt::format(
      "fragmented: {}, but share their pages with allocations; malloc_trim(0) would return {} "
      "of them to the system",
      amount, pages == 0 ? "none" : "about " + human_bytes(pages));
  return finding;
}

}  // namespace

void find_fragmented(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastFree = 16U << 20U;
  if (!evidence.is_live) return;  // a file does not show which pages are resident
  for (const snapshot::HeapAccount& heap : evidence.heaps) {
    const std::uint64_t free = fact_of(heap, "fragmented_bytes");
    const std::uint64_t arenas =
        heap.heap - std::min(heap.heap, fact_of(heap, "mapped_allocation_bytes"));
    if (free < kLeastFree || free < arenas / 2) continue;
    const std::uint64_t in_use = heap.heap - std::min(heap.heap, free);
    const std::uint64_t resident = free_resident(evidence, in_use, free);
    if (resident < free / 4 * 3) continue;
    found.push_back(finding_of(heap, arenas, std::min(resident, fact_of(heap, "free_page_bytes"))));
    found.back().next = "summary " + evidence.source;
  }
}

}  // namespace heapattach::diagnose
