// Resident memory that no heap accounts for: mapped files, stacks, other allocators. Every program
// has some for its code and libraries. It counts from 64 MiB and three quarters of what is
// resident, because then no report on the heap can explain the size of the process.

#include <algorithm>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

using snapshot::MemoryUse;

struct OutsidePart {
  std::uint64_t bytes = 0;
  std::string words;
};

// The parts of memory that are no heap, the largest first. malloc's heap is in "[heap]" and in
// anonymous memory; as much as it has is not counted there.
std::vector<OutsidePart> parts_of(const Evidence& evidence) {
  const snapshot::MemoryAccount& memory = *evidence.memory;
  std::uint64_t heaps = 0;
  for (const snapshot::HeapAccount& heap : evidence.heaps) heaps += heap.heap - heap.unmapped;
  const std::uint64_t blocks = memory.of(MemoryUse::BlocksInUse).resident_bytes +
                               memory.of(MemoryUse::FreeBlocks).resident_bytes;
  std::uint64_t unplaced = heaps - std::min(heaps, blocks);
  const auto rest = [&](MemoryUse use) {
    const std::uint64_t bytes = memory.of(use).resident_bytes;
    const std::uint64_t of_heap = std::min(bytes, unplaced);
    unplaced -= of_heap;
    return bytes - of_heap;
  };
  std::vector<OutsidePart> parts;
  parts.push_back({rest(MemoryUse::Malloc), "in malloc's heap, which was not read"});
  parts.push_back({rest(MemoryUse::Other), "in anonymous memory that no known heap has"});
  parts.push_back({memory.of(MemoryUse::Files).resident_bytes, "in mapped files"});
  parts.push_back({memory.of(MemoryUse::ThreadStacks).resident_bytes,
                   "in the stacks of " + counted(memory.thread_stacks, "thread")});
  parts.push_back({memory.of(MemoryUse::FiberStacks).resident_bytes,
                   "in the stacks of " + counted(memory.fiber_stacks, "fiber")});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return parts;
}

bool may_be_malloc(const Evidence& evidence) {
  return std::all_of(evidence.heaps.begin(), evidence.heaps.end(),
                     [](const auto& heap) { return heap.kind->is_collected; });
}

}  // namespace

void find_outside(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastOutside = 64U << 20U;
  constexpr std::size_t kShownParts = 3;
  if (!evidence.memory || evidence.heaps.empty()) return;
  const std::vector<OutsidePart> parts = parts_of(evidence);
  const std::uint64_t resident = evidence.memory->total.resident_bytes;
  std::uint64_t outside = 0;
  for (const OutsidePart& part : parts) outside += part.bytes;
  if (outside < kLeastOutside || outside < resident / 4 * 3) return;
  const OutsidePart& largest = parts.front();
  const bool is_of_files = largest.words == "in mapped files" && !evidence.files.empty();
  Finding finding{
      .kind = "outside",
      .severity = Severity::Unusual,
      .sentence =
          fmt::format("memory is outside the heap: {} of {} resident, {} of it {}{}",
                      human_bytes(outside), human_bytes(resident), human_bytes(largest.bytes),
                      largest.words, is_of_files ? ", most of " + evidence.files.front().path : ""),
      .evidence = {},
      .next = fmt::format("{} {}", may_be_malloc(evidence) ? "summary --heap both" : "summary",
                          evidence.source)};
  for (std::size_t i = 0; i < std::min(parts.size(), kShownParts); ++i) {
    if (parts[i].bytes == 0) break;
    finding.evidence.push_back(fmt::format("{} {}", human_bytes(parts[i].bytes), parts[i].words));
  }
  for (std::size_t i = 0; is_of_files && i < std::min(evidence.files.size(), kShownParts); ++i) {
    const MappedFile& file = evidence.files[i];
    finding.evidence.push_back(
        fmt::format("{} of {}", human_bytes(file.resident_bytes), file.path));
  }
  found.push_back(std::move(finding));
}

}  // namespace heapattach::diagnose
