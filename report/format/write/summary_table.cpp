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
    case MemoryUse::Malloc: return "malloc's heap ([heap])";
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

std::string malloc_table(const snapshot::HeapAccount& heap, const TextStyle& style) {
  const snapshot::MallocFacts& malloc = *heap.malloc;
  Table table({"bytes", "of malloc's heap"});
  const auto add = [&](std::uint64_t bytes, std::string text) {
    table.add({std::to_string(bytes), std::move(text)});
  };
  add(heap.live, "reachable");
  add(heap.unreachable, "leaked: nothing reachable references it");
  add(heap.fragmented, "headers and tables of malloc's own");
  add(malloc.in_bins, "free, between what is in use (fragmentation)");
  add(malloc.in_fast_bins, "free, in fast bins");
  add(malloc.in_caches, "free, in the caches of threads");
  add(malloc.at_top, "free, at the ends of arenas");
  table.add({std::to_string(heap.heap), "heap"}, Table::Kind::Total);
  return table.format(style) +
         fmt::format("{} arena{}; {} bytes of the heap are {} mapped allocation{}\n", malloc.arenas,
                     malloc.arenas == 1 ? "" : "s", malloc.mapped_bytes, malloc.mapped_chunks,
                     malloc.mapped_chunks == 1 ? "" : "s");
}

std::string heap_table(const snapshot::HeapAccount& heap, const TextStyle& style) {
  Table table({"bytes", "of the collector's heap"});
  const auto add = [&](std::uint64_t bytes, std::string text) {
    table.add({std::to_string(bytes), std::move(text)});
  };
  add(heap.live, "live objects");
  if (heap.fragmented_known) {
    add(heap.unreachable, "unreachable objects: the next collection frees them");
    add(heap.fragmented, "fragmented: free slots and ends of blocks in use");
  } else {
    add(heap.unreachable, "not reachable, or unused in blocks in use");
  }
  add(heap.free, "free blocks");
  add(heap.unmapped, "free blocks returned to the system (unmapped)");
  table.add({std::to_string(heap.heap), "heap"}, Table::Kind::Total);
  return table.format(style);
}

}  // namespace

std::string format_summary_table(const SummaryReport& report, const TextStyle& style) {
  std::string out = fmt::format("process {}, {}, {}\n\n", report.pid, terminal_text(report.exe),
                                terminal_text(report.captured));
  if (report.summary.memory) {
    out += memory_table(*report.summary.memory, style);
    if (!report.tip.empty()) out += report.tip + '\n';
    out += '\n';
  } else {
    out +=
        "note: a file does not contain the process's memory mappings; run --summary on the "
        "process\n\n";
  }
  if (report.summary.heap) {
    out += report.summary.heap->malloc ? malloc_table(*report.summary.heap, style)
                                       : heap_table(*report.summary.heap, style);
  } else {
    out += "note: the collector's numbers are unknown\n";
  }
  if (report.summary.malloc_heap) {
    out += '\n' + malloc_table(*report.summary.malloc_heap, style);
  }
  if (!report.complete) out += fmt::format("partial: {}\n", terminal_text(report.reason));
  return out;
}

}  // namespace heapattach
