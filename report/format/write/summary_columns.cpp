#include "report/format/write/summary_columns.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::HeapAccount;
using snapshot::MemoryAccount;
using snapshot::MemoryUse;
using snapshot::NamedMemory;

constexpr std::array<MemoryUseRow, snapshot::kMemoryUses> kUses{{
    {MemoryUse::BlocksInUse, "heap_in_use", "heap: blocks in use"},
    {MemoryUse::FreeBlocks, "heap_free", "heap: free blocks"},
    {MemoryUse::ThreadStacks, "thread_stacks", "stacks of threads", &MemoryAccount::thread_stacks},
    {MemoryUse::FiberStacks, "fiber_stacks", "stacks of fibers", &MemoryAccount::fiber_stacks},
    {MemoryUse::Malloc, "malloc", "malloc's heap"},
    {MemoryUse::Files, "files", "programs, libraries and files"},
    {MemoryUse::Other, "other", "other anonymous memory"},
}};

CellValue words_for(const MemoryAccount& memory, const MemoryUseRow& row) {
  std::string words(row.words);
  if (row.count != nullptr) words += fmt::format(" ({})", memory.*row.count);
  if (row.use == MemoryUse::Malloc && !memory.has_all_of_malloc) words += " ([heap])";
  return words;
}

CellValue count_of(const MemoryAccount& memory, const MemoryUseRow& row) {
  return row.count == nullptr ? CellValue() : CellValue(std::uint64_t{memory.*row.count});
}

constexpr ColumnHead kResident{.head = "resident", .key = "resident_bytes", .unit = Unit::Digits};
constexpr ColumnHead kMapped{.head = "mapped", .key = "mapped_bytes", .unit = Unit::Digits};

constexpr Column<MemoryAccount, MemoryUseRow> kUseColumns[] = {
    {{.key = "use"},
     [](const MemoryAccount&, const MemoryUseRow& row) { return CellValue(std::string(row.key)); }},
    {kResident,
     [](const MemoryAccount& memory, const MemoryUseRow& row) {
       return CellValue(memory.of(row.use).resident_bytes);
     }},
    {kMapped, [](const MemoryAccount& memory,
                 const MemoryUseRow& row) { return CellValue(memory.of(row.use).mapped_bytes); }},
    {{.key = "count"}, count_of},
    {{.head = "what"}, words_for},
};

using NamedRows = std::span<const NamedMemory>;

// The heading of the last depends on the report.
constexpr Column<NamedRows, NamedMemory> kNamedColumns[] = {
    {{.key = "name"}, [](const NamedRows&, const NamedMemory& row) { return CellValue(row.name); }},
    {kResident,
     [](const NamedRows&, const NamedMemory& row) { return CellValue(row.share.resident_bytes); }},
    {kMapped,
     [](const NamedRows&, const NamedMemory& row) { return CellValue(row.share.mapped_bytes); }},
    {{.head = "largest"},
     [](const NamedRows&, const NamedMemory& row) { return CellValue(terminal_text(row.name)); }},
};

}  // namespace

std::span<const MemoryUseRow> memory_uses() {
  return kUses;
}

Grid memory_grid(const MemoryAccount& memory, std::span<const MemoryUseRow> rows) {
  return grid_of(kUseColumns, memory, rows);
}

Grid named_memory_grid(NamedRows rows, std::string_view head) {
  static constexpr NamedRows kNoReport;
  Grid grid = grid_of(kNamedColumns, kNoReport, rows);
  grid.columns.back().head = head;
  return grid;
}

std::vector<HeapPart> parts_of(const HeapAccount& heap) {
  const heap::Kind& kind = *heap.kind;
  std::vector<HeapPart> parts{{heap.live, kind.reachable, "live_bytes"}};
  const bool is_known = heap.has_totals ? heap.fragmented_known : heap.unreachable != 0;
  const std::string_view unknown = heap.has_totals ? kind.not_reachable : std::string_view();
  parts.push_back({heap.unreachable, is_known ? kind.unreachable : unknown, "unreachable_bytes"});
  if (!heap.has_totals) return parts;
  if (heap.fragmented_known) {
    if (!kind.is_collected) parts.push_back({heap.unreachable, {}, "leaked_bytes"});
    parts.push_back({heap.fragmented, kind.rest, kind.rest_key});
  }
  for (const heap::Fact& fact : heap.facts) parts.push_back({fact.number, fact.words, fact.key});
  // A saved snapshot does not say which parts the free bytes have.
  const bool has_facts = std::any_of(heap.facts.begin(), heap.facts.end(),
                                     [](const heap::Fact& fact) { return !fact.words.empty(); });
  parts.push_back({heap.free, has_facts ? std::string_view() : kind.free, "free_bytes"});
  parts.push_back(
      {heap.unmapped, has_facts ? std::string_view() : kind.unmapped, "unmapped_bytes"});
  return parts;
}

}  // namespace heapattach
