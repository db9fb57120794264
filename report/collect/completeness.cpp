#include "report/collect/completeness.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/window.h"
#include "report/collect/core_warnings.h"
#include "symbols/cxx/function_name.h"

namespace heapattach::snapshot {

namespace {

// A program may make the collector call a function of its own for more roots
// (GC_set_push_other_roots). The roots of Crystal and of the known runtimes are found in other
// ways. Returns why the result may be incomplete if it is another hook; otherwise empty.
std::string unknown_root_hook(const Target& target, const HeldHeap& held) {
  if (target.runtime == "crystal" || target.runtimes.follows_root_hook()) return {};
  const auto variable = target.modules.find_symbol("GC_push_other_roots");
  if (!variable) return {};
  const auto hook = held.capture.read_as<std::uint64_t>(variable->address);
  if (!hook || *hook == 0) return {};
  const Module* module = target.modules.find(RemoteAddr{*hook});
  if (module == nullptr || module->name().starts_with("libgc.so")) return {};
  const auto function = module->symbol_at(RemoteAddr{*hook});
  if (function && function->name.starts_with("GC_")) return {};
  return fmt::format(
      "the program pushes more roots through {} of {}, and objects that only those keep alive are "
      "missing here",
      function ? function_name(function->name) : fmt::format("the function at {:#x}", *hook),
      module->name());
}

// How much of the blocks in use lies where pages could not be read: what is there counts as zeros.
std::uint64_t unread_bytes(const boehm::Heap& heap, std::span<const Range> holes) {
  std::uint64_t unread = 0;
  const auto blocks = heap.blocks();
  for (const Range& hole : holes) {
    auto block = std::partition_point(blocks.begin(), blocks.end(), [&](const boehm::Block& one) {
      return one.object(one.objects) <= hole.start;
    });
    for (; block != blocks.end() && block->start < hole.end(); ++block) {
      unread +=
          std::min(hole.end(), block->object(block->objects)) - std::max(hole.start, block->start);
    }
  }
  return unread;
}

}  // namespace

void mark_partial(const Target& target,
                  const HeldHeap& held,
                  const boehm::Heap& heap,
                  const boehm::LiveSet& found,
                  Snapshot& snapshot) {
  snapshot.skipped = held.index.skipped + heap.unreadable_blocks();
  if (target.core && target.core->missing_bytes() > 0) {
    snapshot.reason = cut_core(*target.core);
  } else if (held.malloc && !held.malloc->problems.empty()) {
    snapshot.reason =
        fmt::format("malloc's account does not add up: {}", fmt::join(held.malloc->problems, "; "));
  } else if (held.index.skipped > 0) {
    const std::string first = held.index.misfits.empty()
                                  ? std::string()
                                  : fmt::format(", the first at {}: {}", held.index.misfits[0].at,
                                                held.index.misfits[0].what);
    snapshot.reason =
        fmt::format("{} entries of the heap's index are impossible{}{}", held.index.skipped, first,
                    held.counters.collecting.value_or(false) ? "; a collection was running" : "");
  } else if (const std::uint64_t unasked =
                 target.live ? target.live->stalling().userfault_bytes(held.capture.holes()) : 0;
             unasked > 0) {
    snapshot.reason = fmt::format(
        "{} bytes are not in memory, and were not read: the process that provides them through a "
        "userfaultfd, may not answer",
        unasked);
  } else if (const std::uint64_t unread = unread_bytes(heap, held.capture.holes()); unread > 0) {
    snapshot.reason = fmt::format("{} bytes of the heap could not be read", unread);
  } else if (const Window* window = held.capture.window();
             window != nullptr && window->unread_bytes() > 0) {
    snapshot.reason = fmt::format("{} bytes could not be read", window->unread_bytes());
  } else if (heap.unreadable_blocks() > 0) {
    snapshot.reason = fmt::format("{} blocks could not be read", heap.unreadable_blocks());
  } else if (const std::uint64_t bytes = unaccounted_bytes(held); bytes > 0) {
    snapshot.reason =
        fmt::format("the heap's index and the collector's counters differ by {} bytes", bytes);
  } else if (std::string hook = unknown_root_hook(target, held); !hook.empty()) {
    snapshot.reason = std::move(hook);
  } else if (!held.is_held) {
    snapshot.reason = "read while the target ran: it may be inconsistent";
  } else if (!found.problems.empty()) {
    snapshot.reason = fmt::format("{}", fmt::join(found.problems, "; "));
  }
  snapshot.complete = snapshot.reason.empty();
}

}  // namespace heapattach::snapshot
