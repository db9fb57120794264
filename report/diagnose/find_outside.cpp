// Resident memory that no heap accounts for: mapped files, stacks, other allocators. Every program
// has some for its code and libraries. It counts from 64 MiB and three quarters of what is
// resident, because then no report on the heap can explain the size of the process. If no heap
// could be read, anonymous memory may well be the program's heap, so that is only a remark. It is
// also a remark if half of a collector's process is in malloc's heap, which was not read: a leak of
// a library would go unseen there.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

using snapshot::MemoryUse;

enum class PartKind : std::uint8_t { Anonymous, Variables, Files, Shared, Stacks };

struct OutsidePart {
  std::uint64_t bytes = 0;
  PartKind kind = PartKind::Anonymous;
  std::string words;
};

// The bytes of anonymous memory that no heap accounts for: below the program break, and elsewhere.
// malloc's heap may be in both, so its size is subtracted from them.
std::array<std::uint64_t, 2> outside_heaps(const Evidence& evidence) {
  const snapshot::MemoryAccount& memory = *evidence.memory;
  std::uint64_t heaps = 0;
  for (const snapshot::HeapAccount& heap : evidence.heaps) heaps += heap.heap - heap.unmapped;
  const std::uint64_t blocks = memory.of(MemoryUse::BlocksInUse).resident_bytes +
                               memory.of(MemoryUse::FreeBlocks).resident_bytes;
  std::uint64_t unplaced = heaps - std::min(heaps, blocks);
  const std::uint64_t other = memory.of(MemoryUse::Other).resident_bytes;
  std::array<std::uint64_t, 2> parts{memory.of(MemoryUse::Malloc).resident_bytes,
                                     other - std::min(other, evidence.variable_bytes)};
  for (std::uint64_t& part : parts) {
    const std::uint64_t of_heap = std::min(part, unplaced);
    unplaced -= of_heap;
    part -= of_heap;
  }
  return parts;
}

bool may_be_malloc(const Evidence& evidence) {
  return std::all_of(evidence.heaps.begin(), evidence.heaps.end(),
                     [](const auto& heap) { return heap.kind->is_collected; });
}

// The parts of memory that are not a heap, the largest first.
std::vector<OutsidePart> parts_of(const Evidence& evidence) {
  const snapshot::MemoryAccount& memory = *evidence.memory;
  std::vector<OutsidePart> parts;
  const bool may_be_heap = evidence.heaps.empty() && evidence.objects > 0;
  if (!may_be_heap) {
    const auto [below_break, other] = outside_heaps(evidence);
    const bool is_mallocs = !evidence.heaps.empty() && may_be_malloc(evidence);
    parts.push_back({below_break, PartKind::Anonymous,
                     is_mallocs ? "in malloc's heap, which was not read"
                                : "below the program break (sbrk), and not malloc's"});
    parts.push_back({other, PartKind::Anonymous, "in anonymous memory that no known heap has"});
  }
  const std::uint64_t files = memory.of(MemoryUse::Files).resident_bytes;
  parts.push_back({std::min(memory.of(MemoryUse::Other).resident_bytes, evidence.variable_bytes),
                   PartKind::Variables, "in variables of the program and its libraries (.bss)"});
  parts.push_back(
      {files - std::min(files, evidence.shared_bytes), PartKind::Files, "in mapped files"});
  parts.push_back({std::min(files, evidence.shared_bytes), PartKind::Shared, "in shared memory"});
  parts.push_back({memory.of(MemoryUse::ThreadStacks).resident_bytes, PartKind::Stacks,
                   "in the stacks of " + counted(memory.thread_stacks, "thread")});
  parts.push_back({memory.of(MemoryUse::FiberStacks).resident_bytes, PartKind::Stacks,
                   "in the stacks of " + counted(memory.fiber_stacks, "fiber")});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return parts;
}

bool has_most(const std::vector<MappedFile>& all, std::uint64_t bytes) {
  return !all.empty() && all.front().resident_bytes > bytes / 2;
}

// ", most of /srv/data.mdb", or most of a folder; empty if neither has half of the part's bytes.
std::string most_of(const Evidence& evidence, const OutsidePart& part) {
  const auto& named = part.kind == PartKind::Shared ? evidence.shared : evidence.files;
  if (has_most(named, part.bytes)) return ", most of " + named.front().path;
  if (part.kind == PartKind::Shared || !has_most(evidence.folders, part.bytes)) return {};
  const MappedFile& folder = evidence.folders.front();
  return fmt::format(", most of {} in {}/", counted(folder.files, "file"), folder.path);
}

std::string words_for(const Evidence& evidence, const OutsidePart& part) {
  const bool is_named = part.kind == PartKind::Files || part.kind == PartKind::Shared;
  return part.words + (is_named ? most_of(evidence, part) : std::string());
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

// Whether most of the memory may be malloc's, next to the heap of a collector that knows its size.
bool may_hide_leaks(const Evidence& evidence, const std::vector<OutsidePart>& parts) {
  constexpr std::uint64_t kLeastUnread = 16U << 20U;
  const OutsidePart& largest = parts.front();
  return evidence.is_live && evidence.heaps.size() == 1 && evidence.heaps.front().has_totals &&
         may_be_malloc(evidence) && largest.kind == PartKind::Anonymous &&
         largest.bytes >= kLeastUnread &&
         largest.bytes >= evidence.memory->total.resident_bytes / 2;
}

std::string sentence_of(const Evidence& evidence,
                        const std::vector<OutsidePart>& parts,
                        std::uint64_t outside) {
  const OutsidePart& largest = parts.front();
  const std::string resident = human_bytes(evidence.memory->total.resident_bytes);
  const std::string where = words_for(evidence, largest);
  if (!evidence.has_objects()) {
    return fmt::format("most of the memory: {} of {} resident are {}", human_bytes(largest.bytes),
                       resident, where);
  }
  return fmt::format("memory is outside the heap: {} of {} resident, {} of it {}",
                     human_bytes(outside), resident, human_bytes(largest.bytes), where);
}

}  // namespace

void find_outside(const Evidence& evidence, std::vector<Finding>& found) {
  constexpr std::uint64_t kLeastOutside = 64U << 20U;
  if (!evidence.memory) return;
  const std::vector<OutsidePart> parts = parts_of(evidence);
  const std::uint64_t resident = evidence.memory->total.resident_bytes;
  std::uint64_t outside = 0;
  for (const OutsidePart& part : parts) outside += part.bytes;
  const bool is_large = outside >= kLeastOutside && outside >= resident / 4 * 3;
  if (!is_large && !may_hide_leaks(evidence, parts)) return;
  const bool is_certain =
      is_large && (evidence.has_objects() || parts.front().kind != PartKind::Anonymous);
  const bool has_more = !evidence.heaps.empty() && may_be_malloc(evidence);
  found.push_back({.kind = "outside",
                   .severity = is_certain ? Severity::Unusual : Severity::Remark,
                   .sentence = sentence_of(evidence, parts, outside),
                   .evidence = lines_for(evidence, parts),
                   .next = !is_large  ? "diagnose --heap both " + evidence.source
                           : has_more ? "summary --heap both " + evidence.source
                                      : next_on_memory(evidence)});
}

}  // namespace heapattach::diagnose
