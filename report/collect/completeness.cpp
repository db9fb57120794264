#include "report/collect/completeness.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/memory/window.h"
#include "report/collect/core_warnings.h"
#include "report/text/human_bytes.h"
#include "symbols/cxx/function_name.h"

namespace heapattach::snapshot {

namespace {

// The bytes of blocks in use that are on pages that could not be read. They count as zeros.
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

// The reason why roots that only a function of the program knows are missing; otherwise empty. The
// roots of Crystal and of the known runtimes are found in other ways.
std::string unseen_roots(const Target& target, const MemoryReader& memory) {
  if (target.runtime == "crystal" || target.runtimes.follows_root_hook()) return {};
  const auto function = target.heaps.front()->root_function(target.modules, memory);
  if (!function) return {};
  std::string name = "a function of its own";
  if (function->at) {
    name = fmt::format("{} of {}",
                       function->symbol.empty()
                           ? fmt::format("the function at {:#x}", function->at->value)
                           : function_name(function->symbol),
                       function->module);
  }
  return fmt::format(
      "the program pushes more roots through {}, and objects that only these roots keep alive are "
      "missing here",
      name);
}

// Says what is missing from the copy; empty if nothing is missing.
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
    return counted(heap.unreadable_blocks(), "block") + " could not be read";
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
  if (std::string roots = unseen_roots(target, held.capture); !roots.empty()) return roots;
  if (target.collected() != nullptr) {
    std::string marks = runtimes::unseen_marks(target.runtimes, *traced.heap, traced.found.live,
                                               target.memory, held.map);
    if (!marks.empty()) return marks;
  }
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
  return unseen_roots(target, target.memory);
}

}  // namespace heapattach::snapshot
