#include "symbols/heap/by_hand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/red_zone.h"
#include "symbols/heap/heap_memory.h"
#include "symbols/heap/ranges.h"
#include "symbols/heap/roots.h"

namespace heapattach::heap {

namespace {

constexpr std::string_view kAnonymous = "(mapped memory)";
constexpr std::string_view kThreadLocal = "(thread-local data)";

// A thread, by its stack pointer.
struct StackAt {
  RemoteAddr pointer;
  pid_t thread = 0;
};

class RootSearch {
 public:
  RootSearch(std::span<const Range> own,
             const MemoryMap& map,
             std::span<const FrozenThread> threads)
      : map_(map), threads_(threads), excluded_(joined({own.begin(), own.end()})) {
    for (const FrozenThread& thread : threads) {
      if (thread.registers) {
        stacks_.push_back({thread.registers->stack_pointer, thread.tid});
      } else if (thread.blocked_stack_pointer) {
        stacks_.push_back({*thread.blocked_stack_pointer, thread.tid});
      }
    }
    std::sort(stacks_.begin(), stacks_.end(),
              [](const StackAt& a, const StackAt& b) { return a.pointer < b.pointer; });
  }

  std::vector<RootRange> run() && {
    const Mapping* before = nullptr;
    for (const Mapping& mapping : map_.mappings()) {
      if (may_hold_allocations(mapping)) add(mapping, is_guard(before, mapping));
      before = &mapping;
    }
    return std::move(roots_);
  }

 private:
  // Memory below a stack, so that what lies between its start and the stack pointer is unused
  // stack.
  static bool is_guard(const Mapping* before, const Mapping& mapping) {
    if (mapping.path == "[stack]") return true;
    return before != nullptr && before->range.end() == mapping.range.start && !before->readable;
  }

  void add(const Mapping& mapping, bool is_guarded) {
    RootRange rest;
    rest.name = name_of(mapping);
    RemoteAddr at = mapping.range.start;
    for (const StackAt& stack : stacks_) {
      if (!mapping.range.contains(stack.pointer) || is_excluded(stack.pointer)) continue;
      const std::uint64_t low = stack.pointer.value - kRedZoneBytes;
      const RemoteAddr from{std::max(at.value, low & ~std::uint64_t{7})};
      if (rest.thread != 0 || !is_guarded) add_parts(rest, at, from);
      rest = {.kind = RootKind::Stack, .range = {}, .thread = stack.thread};
      at = from;
    }
    add_parts(rest, at, mapping.range.end());
  }

  [[nodiscard]] std::string_view name_of(const Mapping& mapping) const {
    if (!mapping.is_anonymous()) return {};
    const bool is_local =
        std::any_of(threads_.begin(), threads_.end(), [&](const FrozenThread& thread) {
          return thread.registers && mapping.range.contains(thread.registers->thread_pointer);
        });
    return is_local ? kThreadLocal : kAnonymous;
  }

  [[nodiscard]] bool is_excluded(RemoteAddr at) const {
    const auto after = std::upper_bound(excluded_.begin(), excluded_.end(), at,
                                        [](RemoteAddr a, const Range& r) { return a < r.start; });
    return after != excluded_.begin() && (after - 1)->contains(at);
  }

  // Adds [from, to) without the memory of heaps.
  void add_parts(RootRange like, RemoteAddr from, RemoteAddr to) {
    auto next = std::partition_point(excluded_.begin(), excluded_.end(),
                                     [&](const Range& range) { return range.end() <= from; });
    while (from < to) {
      const bool is_last = next == excluded_.end() || next->start >= to;
      const RemoteAddr end = is_last ? to : std::max(from, next->start);
      if (end > from) {
        like.range = {from, end - from};
        roots_.push_back(like);
      }
      if (is_last) return;
      from = std::max(from, RemoteAddr{(next->end().value + 7) & ~std::uint64_t{7}});
      ++next;
    }
  }

  const MemoryMap& map_;
  std::span<const FrozenThread> threads_;
  std::vector<Range> excluded_;
  std::vector<StackAt> stacks_;
  std::vector<RootRange> roots_;
};

// The parts of `roots` that have contents.
std::vector<RootRange> touched_parts(const std::vector<RootRange>& roots,
                                     std::span<const Range> touched) {
  std::vector<RootRange> parts;
  for (RootRange root : roots) {
    const Range whole = root.range;
    auto at = std::partition_point(touched.begin(), touched.end(),
                                   [&](const Range& range) { return range.end() <= whole.start; });
    for (; at != touched.end() && at->start < whole.end(); ++at) {
      const RemoteAddr start = std::max(at->start, whole.start);
      root.range = {start, std::min(at->end(), whole.end()) - start};
      parts.push_back(root);
    }
  }
  return parts;
}

}  // namespace

bool may_hold_allocations(const Mapping& mapping) {
  const bool is_device = mapping.path.starts_with("/dev/") && mapping.path != "/dev/zero" &&
                         !mapping.path.starts_with("/dev/shm/");
  return mapping.is_private && may_hold_heap(mapping) && !is_device;
}

std::vector<RootRange> find_roots(std::span<const Range> own,
                                  const MemoryMap& map,
                                  std::span<const Range> constants,
                                  std::span<const Range> touched,
                                  std::span<const FrozenThread> threads) {
  std::vector<RootRange> roots = RootSearch(own, map, threads).run();
  for (const Range& range : constants) roots.push_back({.range = range});
  return touched_parts(roots, touched);
}

RootsOfThreads words_of(std::span<const FrozenThread> threads) {
  RootsOfThreads roots;
  for (const FrozenThread& thread : threads) {
    if (thread.registers) {
      roots.stopped.push_back(thread);
    } else if (thread.state != 'Z' && thread.state != 'X') {
      roots.problems.push_back(
          fmt::format("thread {} could not be stopped: its registers are unknown", thread.tid));
    }
  }
  const auto add = [&](std::span<const std::byte> words) {
    roots.words.push_back({words, Heap::From::Stack});
  };
  for (const FrozenThread& thread : roots.stopped) {
    add(std::as_bytes(std::span(thread.registers->general)));
    add(std::as_bytes(std::span(thread.vector_registers)));
    // A stack may itself be an allocation, which its stack pointer keeps alive.
    add(std::as_bytes(std::span(&thread.registers->stack_pointer.value, 1)));
  }
  return roots;
}

LiveSet find_reachable(const Heap& heap,
                       const Capture& capture,
                       std::vector<RootRange> roots,
                       std::span<const FrozenThread> threads,
                       unsigned workers) {
  ObjectSet none(heap);
  Marker marker(heap, none, workers);
  RootsOfThreads of_threads = words_of(threads);
  std::vector<RootWords> words = root_words(roots, capture);
  words.insert(words.end(), of_threads.words.begin(), of_threads.words.end());
  marker.trace(words, {});
  return {std::move(marker).take_live(),
          std::move(none),
          std::move(roots),
          std::move(of_threads.stopped),
          {},
          {},
          {},
          {},
          std::move(of_threads.problems)};
}

}  // namespace heapattach::heap
