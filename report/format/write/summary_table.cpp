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

#include <array>

#include <fmt/format.h>

#include "report/format/write/summary_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::MemoryAccount;
using snapshot::MemoryShare;
using snapshot::MemoryUse;

std::string words_for(MemoryUse use, const MemoryAccount& memory) {
  switch (use) {
    case MemoryUse::BlocksInUse: return "the collector's heap: blocks in use";
    case MemoryUse::FreeBlocks: return "the collector's heap: free blocks";
    case MemoryUse::ThreadStacks:
      return fmt::format("stacks of threads ({})", memory.thread_stacks);
    case MemoryUse::FiberStacks: return fmt::format("stacks of fibers ({})", memory.fiber_stacks);
    case MemoryUse::Malloc:
      return memory.has_all_of_malloc ? "malloc's heap" : "malloc's heap ([heap])";
    case MemoryUse::Files: return "programs, libraries and files";
    case MemoryUse::Other: break;
  }
  return "other anonymous memory";
}

std::string memory_table(const MemoryAccount& memory, const TextStyle& style) {
  Table table({"resident", "mapped", "what"});
  const auto add = [&](const MemoryShare& share, std::string text, Table::Kind kind) {
    table.add(
        {std::to_string(share.resident_bytes), std::to_string(share.mapped_bytes), std::move(text)},
        kind);
  };
  for (std::size_t i = 0; i < snapshot::kMemoryUses; ++i) {
    const auto use = static_cast<MemoryUse>(i);
    if (memory.of(use) == MemoryShare{}) continue;
    add(memory.of(use), words_for(use, memory), Table::Kind::Row);
  }
  add(memory.total, "total (resident: RSS)", Table::Kind::Total);
  return table.format(style);
}

// The largest parts that no report on the heap explains, if they are worth a look: a tenth of the
// process, and a mebibyte.
std::string outside_table(const SummaryReport& report, const TextStyle& style) {
  const MemoryAccount& memory = *report.summary.memory;
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  Table table({"resident", "mapped",
               report.no_heap.empty() ? "largest outside the heap" : "largest mappings"});
  bool is_empty = true;
  for (const snapshot::NamedMemory& one : memory.largest) {
    const std::uint64_t resident = one.share.resident_bytes;
    if (resident < kLeast || resident < memory.total.resident_bytes / 10) continue;
    table.add({std::to_string(resident), std::to_string(one.share.mapped_bytes),
               terminal_text(one.name)});
    is_empty = false;
  }
  std::string text = is_empty ? "" : '\n' + table.format(style);
  if (const auto* const objects = memory.objects_of) {
    text += fmt::format("note: {}; try: {}\n", objects->where, objects->instead);
  }
  return text;
}

std::string heap_table(const snapshot::HeapAccount& heap, const TextStyle& style) {
  const heap::Kind& kind = *heap.kind;
  Table table({"bytes", fmt::format("of {} heap", whose(kind))});
  const auto add = [&](std::uint64_t bytes, std::string_view text) {
    table.add({std::to_string(bytes), std::string(text)});
  };
  add(heap.live, kind.reachable);
  if (!heap.has_totals) {
    if (heap.unreachable != 0) add(heap.unreachable, kind.unreachable);
    return table.format(style);
  }
  if (heap.fragmented_known) {
    add(heap.unreachable, kind.unreachable);
    add(heap.fragmented, kind.rest);
  } else {
    add(heap.unreachable, kind.not_reachable);
  }
  // A saved snapshot does not say which parts the free bytes have.
  if (heap.facts.empty()) {
    add(heap.free, kind.free);
    if (!kind.unmapped.empty()) add(heap.unmapped, kind.unmapped);
  }
  for (const heap::Fact& fact : heap.facts) {
    if (!fact.words.empty()) add(fact.number, fact.words);
  }
  table.add({std::to_string(heap.heap), "heap"}, Table::Kind::Total);
  return table.format(style) + (heap.remark.empty() ? "" : heap.remark + '\n');
}

}  // namespace

std::string format_summary_table(const SummaryReport& report, const TextStyle& style) {
  std::string out = fmt::format("process {}, {}, {}\n\n", report.pid, terminal_text(report.exe),
                                terminal_text(report.captured));
  if (report.summary.memory) {
    out += memory_table(*report.summary.memory, style);
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
  if (!report.complete && report.no_heap.empty())
    out += fmt::format("partial: {}\n", terminal_text(report.reason));
  return out;
}

}  // namespace heapattach
