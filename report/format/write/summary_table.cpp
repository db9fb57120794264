// A process's memory in two tables, for people: the kernel's view (what is resident, and for what
// use) and the collector's (what is in its heap).
//
//   process 4711, /srv/app, 2026-11-20T11:34:07.215Z
//
//   resident    mapped  what
//    5103616   5103616  the collector's heap: blocks in use
//     …
//   12345678  99999999  total (resident: RSS)
//
//      bytes  of the collector's heap
//    4913888  live objects
//     …
//    7159808  heap

#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/format/write/summary_columns.h"
#include "report/format/write/summary_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::MemoryAccount;
using snapshot::MemoryShare;
using snapshot::MemorySummary;
using snapshot::MemoryUse;

std::string memory_table(const MemorySummary& summary, const TextStyle& style) {
  const MemoryAccount& memory = *summary.memory;
  const bool is_known = !summary.heaps.empty() && summary.heaps.front();
  const heap::Kind& kind = is_known ? *summary.heaps.front()->kind : heap_kind();
  std::vector<MemoryUseRow> rows;
  std::deque<std::string> words;  // of the rows on that heap
  for (MemoryUseRow row : memory_uses()) {
    if (memory.of(row.use) == MemoryShare{}) continue;
    const bool is_of_heap = row.use == MemoryUse::BlocksInUse || row.use == MemoryUse::FreeBlocks;
    if (is_of_heap) row.words = words.emplace_back(fmt::format("{} {}", whose(kind), row.words));
    rows.push_back(row);
  }
  Grid grid = memory_grid(memory, rows);
  grid.add_total({{"resident", memory.total.resident_bytes}, {"mapped", memory.total.mapped_bytes}},
                 "total (resident: RSS)");
  return table_of(grid, style);
}

// The largest parts that no report on the heap explains, if they are worth a look: a tenth of the
// process, and a mebibyte.
std::string outside_table(const SummaryReport& report, const TextStyle& style) {
  const MemoryAccount& memory = *report.summary.memory;
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  std::vector<snapshot::NamedMemory> rows;
  for (const snapshot::NamedMemory& one : memory.largest) {
    const std::uint64_t resident = one.share.resident_bytes;
    if (resident >= kLeast && resident >= memory.total.resident_bytes / 10) rows.push_back(one);
  }
  const Grid grid = named_memory_grid(
      rows, report.no_heap.empty() ? "largest outside the heap" : "largest mappings");
  std::string text = rows.empty() ? "" : '\n' + table_of(grid, style);
  if (const auto* const objects = memory.objects_of) {
    text += fmt::format("note: {}; try: {}\n", objects->where, objects->instead);
  }
  return text;
}

std::string heap_table(const snapshot::HeapAccount& heap, const TextStyle& style) {
  Table table({"bytes", fmt::format("of {} heap", whose(*heap.kind))});
  for (const HeapPart& part : parts_of(heap)) {
    if (!part.words.empty()) table.add({std::to_string(part.bytes), std::string(part.words)});
  }
  if (!heap.has_totals) return table.format(style);
  table.add({std::to_string(heap.heap), "heap"}, Table::Kind::Total);
  return table.format(style) + (heap.remark.empty() ? "" : heap.remark + '\n');
}

}  // namespace

std::string format_summary_table(const SummaryReport& report, const TextStyle& style) {
  const std::string service(value_of(report.resource, "service.name"));
  std::string out = fmt::format("process {}, {}, {}{}\n\n", report.pid, terminal_text(report.exe),
                                service.empty() ? "" : "service " + terminal_text(service) + ", ",
                                terminal_text(report.captured));
  if (report.summary.memory) {
    out += memory_table(report.summary, style);
    out += outside_table(report, style);
    if (!report.tip.empty()) out += report.tip + '\n';
    out += '\n';
  } else {
    out += fmt::format("note: {}\n\n", report.no_memory);
  }
  const auto& heaps = report.summary.heaps;
  if (!report.no_heap.empty()) {
    out += fmt::format("note: the heap was not read: {}\n", terminal_text(report.no_heap));
  } else if (heaps.empty() || !heaps.front()) {
    out += "note: the collector's numbers are unknown\n";
  }
  for (const auto& heap : heaps) {
    if (!heap) continue;
    if (&heap != &heaps.front()) out += '\n';
    out += heap_table(*heap, style);
  }
  if (!report.complete && report.no_heap.empty()) {
    out += fmt::format("partial: {}\n", terminal_text(report.reason));
  }
  return out;
}

}  // namespace heapattach
