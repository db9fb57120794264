#include "report/collect/completeness.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/memory/window.h"
#include "report/collect/core_warnings.h"
#include "symbols/boehm/collector_code.h"
#include "symbols/cxx/function_name.h"

namespace heapattach::snapshot {

namespace {

// Whether a function without a name belongs to a collector that is linked into the program,
// stripped but with its interface exported. The linker puts the collector's objects side by side,
// so the exported functions before and after it are the collector's too.
bool is_among_collectors(const Module& module, RemoteAddr function) {
  const auto is_its = [](const Symbol& symbol) { return symbol.name.starts_with("GC_"); };
  const auto symbols = module.symbols();
  auto after = std::partition_point(symbols.begin(), symbols.end(), [&](const Symbol& symbol) {
    return symbol.address <= function;
  });
  auto before = after;
  while (before != symbols.begin() && !std::prev(before)->is_function) --before;
  while (after != symbols.end() && !after->is_function) ++after;
  return before != symbols.begin() && is_its(*std::prev(before)) && after != symbols.end() &&
         is_its(*after);
}

// Does unknown_root_hook()'s work for a collector that is recognised only by its code.
std::string hook_without_symbols(const Target& target, const MemoryReader& memory) {
  for (const Module& module : target.modules.all()) {
    const bool is_its =
        module.name() == target.collector.module || module.path() == target.collector.module;
    if (!is_its || !module.symbols_with_prefix("GC_").empty()) continue;
    const auto code = boehm::find_collector_code(module, target.collector);
    if (!code || !boehm::has_replaced_hook(*code, memory)) continue;
    return "the program pushes more roots through a function of its own, and objects that only "
           "these roots keep alive are missing here";
  }
  return {};
}

// A program may make the collector call a function of its own for more roots
// (GC_set_push_other_roots). The roots of Crystal and of the known runtimes are found in other
// ways. For any other hook, returns the reason why the result may be incomplete; otherwise an empty
// text.
std::string unknown_root_hook(const Target& target, const MemoryReader& memory) {
  if (target.runtime == "crystal" || target.runtimes.follows_root_hook()) return {};
  const auto variable = target.modules.find_symbol("GC_push_other_roots");
  if (!variable) return hook_without_symbols(target, memory);
  const auto hook = memory.read_as<std::uint64_t>(variable->address);
  if (!hook || *hook == 0) return {};
  const Module* module = target.modules.find(RemoteAddr{*hook});
  if (module == nullptr || module->name().starts_with("libgc.so")) return {};
  const auto function = module->symbol_at(RemoteAddr{*hook});
  if (function ? function->name.starts_with("GC_")
               : is_among_collectors(*module, RemoteAddr{*hook})) {
    return {};
  }
  return fmt::format(
      "the program pushes more roots through {} of {}, and objects that only these roots keep "
      "alive are missing here",
      function ? function_name(function->name) : fmt::format("the function at {:#x}", *hook),
      module->name());
}

// The bytes of blocks in use on pages that could not be read. They count as zeros.
std::uint64_t unread_bytes(const heap::Heap& heap, std::span<const Range> holes) {
  std::uint64_t unread = 0;
  const auto blocks = heap.blocks();
  for (const Range& hole : holes) {
    auto block = std::partition_point(blocks.begin(), blocks.end(), [&](const heap::Block& one) {
      return one.object(one.objects) <= hole.start;
    });
    for (; block != blocks.end() && block->start < hole.end(); ++block) {
      unread +=
          std::min(hole.end(), block->object(block->objects)) - std::max(hole.start, block->start);
    }
  }
  return unread;
}

std::string misfits_of(const HeldHeap& held) {
  const std::string first = held.index().misfits.empty()
                                ? std::string()
                                : fmt::format(", the first at {}: {}", held.index().misfits[0].at,
                                              held.index().misfits[0].what);
  return fmt::format(
      "{} entries of the heap's index are invalid{}{}", held.index().skipped, first,
      held.counters().collecting.value_or(false) ? "; a collection was running" : "");
}

// Says what is missing from the copy; empty if nothing is.
std::string missing_of_copy(const Target& target, const HeldHeap& held, const heap::Heap& heap) {
  if (held.index().skipped > 0) return misfits_of(held);
  const auto& holes = held.capture.holes();
  const std::uint64_t unasked = target.live ? target.live->stalling().userfault_bytes(holes) : 0;
  if (unasked > 0) {
    return fmt::format(
        "{} bytes are not in memory, and were not read: the process that provides them through a "
        "userfaultfd may not answer",
        unasked);
  }
  if (const std::uint64_t unread = unread_bytes(heap, holes); unread > 0) {
    return fmt::format("{} bytes of the heap could not be read", unread);
  }
  const Window* window = held.capture.window();
  if (window != nullptr && window->unread_bytes() > 0) {
    return fmt::format("{} bytes could not be read", window->unread_bytes());
  }
  if (heap.unreadable_blocks() > 0) {
    return fmt::format("{} blocks could not be read", heap.unreadable_blocks());
  }
  return {};
}

// The first of the reasons why the copy or its roots may be incomplete.
std::string missing_of(const Target& target, const HeldHeap& held, const TracedHeap& traced) {
  if (std::string missing = missing_of_copy(target, held, *traced.heap); !missing.empty()) {
    return missing;
  }
  if (const std::uint64_t bytes = unaccounted_bytes(held); bytes > 0) {
    return fmt::format("the heap's index and the collector's counters differ by {} bytes", bytes);
  }
  if (std::string hook = unknown_root_hook(target, held.capture); !hook.empty()) return hook;
  if (!held.is_held) return "read while the target ran: it may be inconsistent";
  const auto& problems = traced.found.problems;
  if (!problems.empty() || !traced.beside) return fmt::format("{}", fmt::join(problems, "; "));
  return fmt::format("{}", fmt::join(traced.beside->problems, "; "));
}

}  // namespace

void mark_partial(const Target& target,
                  const HeldHeap& held,
                  const TracedHeap& traced,
                  Snapshot& snapshot) {
  snapshot.skipped = held.index().skipped + traced.heap->unreadable_blocks();
  std::vector<std::string> reasons;
  if (target.core && target.core->missing_bytes() > 0) {
    reasons.push_back(cut_core(*target.core));
  } else {
    for (const heap::Contents& one : held.heaps) {
      reasons.insert(reasons.end(), one.problems.begin(), one.problems.end());
      reasons.insert(reasons.end(), one.unread.begin(), one.unread.end());
    }
    if (std::string missing = missing_of(target, held, traced); !missing.empty()) {
      reasons.push_back(std::move(missing));
    }
  }
  snapshot.reason = fmt::format("{}", fmt::join(reasons, "; "));
  snapshot.complete = snapshot.reason.empty();
}

std::string foreseen_gap(const Target& target) {
  return target.collected() == nullptr ? std::string() : unknown_root_hook(target, target.memory);
}

}  // namespace heapattach::snapshot
