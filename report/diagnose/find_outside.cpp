// Resident memory that no heap accounts for: mapped files, stacks, other allocators. Every program
// has some for its code and libraries. It counts from 64 MiB and three quarters of what is
// resident, because then no report on the heap can explain the size of the process. If no heap
// could be read, anonymous memory may well be the program's heap, so that is only a remark.

#include <algorithm>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

using snapshot::MemoryUse;

enum class PartKind : std::uint8_t { Anonymous, Files, Stacks };

struct OutsidePart {
  std::uint64_t bytes = 0;
  PartKind kind = PartKind::Anonymous;
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
  const bool may_be_heap = evidence.heaps.empty() && evidence.objects > 0;
  if (!may_be_heap) {
    parts.push_back({rest(MemoryUse::Malloc), PartKind::Anonymous,
                     evidence.heaps.empty() ? "in the memory below the program break"
                                            : "in malloc's heap, which was not read"});
    parts.push_back({rest(MemoryUse::Other), PartKind::Anonymous,
                     "in anonymous memory that no known heap has"});
  }
  parts.push_back({memory.of(MemoryUse::Files).resident_bytes, PartKind::Files, "in mapped files"});
  parts.push_back({memory.of(MemoryUse::ThreadStacks).resident_bytes, PartKind::Stacks,
                   "in the stacks of " + counted(memory.thread_stacks, "thread")});
  parts.push_back({memory.of(MemoryUse::FiberStacks).resident_bytes, PartKind::Stacks,
                   "in the stacks of " + counted(memory.fiber_stacks, "fiber")});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return parts;
}

bool may_be_malloc(const Evidence& evidence) {
  return std::all_of(evidence.heaps.begin(), evidence.heaps.end(),
                     [](const auto& heap) { return heap.kind->is_collected; });
}

// ", most of /srv/data.mdb", or of a folder; nothing if they have less than half of the files'
// bytes.
std::string most_of(const Evidence& evidence, std::uint64_t bytes) {
  const auto has_most = [&](const std::vector<MappedFile>& all) {
    return !all.empty() && all.front().resident_bytes > bytes / 2;
  };
  if (has_most(evidence.files)) return ", most of " + evidence.files.front().path;
  if (!has_most(evidence.folders)) return {};
  const MappedFile& folder = evidence.folders.front();
  return fmt::format(", most of {} in {}/", counted(folder.files, "file"), folder.path);
}

std::vector<std::string> lines_for(const Evidence& evidence,
                                   const std::vector<OutsidePart>& parts) {
  constexpr std::size_t kShownParts = 3;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(parts.size(), kShownParts); ++i) {
    if (parts[i].bytes == 0) break;
    lines.push_back(fmt::format("{} {}", human_bytes(parts[i].bytes), parts[i].words));
  }
  if (parts.front().kind != PartKind::Files) return lines;
  for (std::size_t i = 0; i < std::min(evidence.files.size(), kShownParts); ++i) {
    const MappedFile& file = evidence.files[i];
    lines.push_back(fmt::format("{} of {}", human_bytes(file.resident_bytes), file.path));
  }
  return lines;
}

std::string sentence_of(const Evidence& evidence,
                        const std::vector<OutsidePart>& parts,
                        std::uint64_t outside) {
  const OutsidePart& largest = parts.front();
  const std::string resident = human_bytes(evidence.memory->total.resident_bytes);
  const std::string most =
      largest.kind == PartKind::Files ? most_of(evidence, largest.bytes) : std::string();
  if (!evidence.has_objects()) {
    return fmt::format("most of the memory: {} of {} resident are {}{}", human_bytes(largest.bytes),
                       resident, largest.words, most);
  }
  return fmt::format("memory is outside the heap: {} of {} resident, {} of it {}{}",
                     human_bytes(outside), resident, human_bytes(largest.bytes), largest.words,
                     most);
}

}  // namespace

void find_outside(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastOutside = 64U << 20U;
  if (!evidence.memory) return;
  const std::vector<OutsidePart> parts = parts_of(evidence);
  const std::uint64_t resident = evidence.memory->total.resident_bytes;
  std::uint64_t outside = 0;
  for (const OutsidePart& part : parts) outside += part.bytes;
  if (outside < kLeastOutside || outside < resident / 4 * 3) return;
  const bool is_certain = evidence.has_objects() || parts.front().kind != PartKind::Anonymous;
  const bool has_more = !evidence.heaps.empty() && may_be_malloc(evidence);
  found.push_back(
      {.kind = "outside",
       .severity = is_certain ? Severity::Unusual : Severity::Remark,
       .sentence = sentence_of(evidence, parts, outside),
       .evidence = lines_for(evidence, parts),
       .next = has_more ? "summary --heap both " + evidence.source : next_on_memory(evidence)});
}

}  // namespace heapattach::diagnose
