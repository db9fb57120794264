#include "symbols/heap/by_hand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/red_zone.h"
#include "symbols/heap/heap_memory.h"
#include "symbols/heap/ranges.h"
#include "symbols/heap/roots.h"
#include "symbols/heap/second_look.h"

namespace heapattach::heap {

namespace {

constexpr std::string_view kAnonymous = "(mapped memory)";
constexpr std::string_view kThreadLocal = "(thread-local data)";
constexpr std::string_view kCode = "(generated code)";
constexpr std::string_view kShared = "(shared memory)";

// A thread, by its stack pointer.
struct StackAt {
  RemoteAddr pointer;
  pid_t thread = 0;
};

// The thread-local variables that programs usually have are in the pages before the thread pointer,
// and the C library's own data about the thread follows it. Other memory may be in the same
// mapping.
Range locals_at(RemoteAddr thread_pointer) {
  constexpr std::uint64_t kBefore = 8192;
  constexpr std::uint64_t kAfter = 4096;
  const std::uint64_t start = thread_pointer.value - std::min(thread_pointer.value, kBefore);
  return {RemoteAddr{start & ~std::uint64_t{7}}, kBefore + kAfter};
}

class RootSearch {
 public:
  RootSearch(std::span<const Range> own,
             const MemoryMap& map,
             std::span<const FrozenThread> threads)
      : map_(map), excluded_(joined({own.begin(), own.end()})) {
    for (const FrozenThread& thread : threads) {
      if (thread.registers) {
        locals_.push_back(locals_at(thread.registers->thread_pointer));
        stacks_.push_back({thread.registers->stack_pointer, thread.tid});
      } else if (thread.blocked_stack_pointer) {
        stacks_.push_back({*thread.blocked_stack_pointer, thread.tid});
      }
    }
    std::sort(stacks_.begin(), stacks_.end(),
              [](const StackAt& a, const StackAt& b) { return a.pointer < b.pointer; });
    std::sort(locals_.begin(), locals_.end(),
              [](const Range& a, const Range& b) { return a.start < b.start; });
  }

  std::vector<RootRange> run() && {
    const Mapping* before = nullptr;
    const auto& all = map_.mappings();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Mapping& mapping = all[i];
      if (may_hold_allocations(mapping)) {
        add(mapping, is_guard(before, mapping));
      } else if (is_generated_code(mapping) || is_shared_memory(mapping) ||
                 is_guard_within(all, i)) {
        add(mapping, false);
      }
      before = &mapping;
    }
    return std::move(roots_);
  }

 private:
  // Whether the mapping is a stack from its start on, with a guard below it, so that everything
  // below the stack pointer is unused.
  static bool is_guard(const Mapping* before, const Mapping& mapping) {
    if (mapping.path == "[stack]") return true;
    return before != nullptr && before->range.end() == mapping.range.start && !before->readable;
  }

  void add(const Mapping& mapping, bool is_guarded) {
    RootRange rest;
    if (mapping.is_anonymous()) rest.name = kAnonymous;
    if (!mapping.is_private) rest.name = kShared;
    rest.is_packed = mapping.executable;
    if (is_generated_code(mapping)) rest.name = kCode;
    RemoteAddr at = mapping.range.start;
    for (const StackAt& stack : stacks_) {
      if (!mapping.range.contains(stack.pointer) || is_excluded(stack.pointer)) continue;
      const std::uint64_t low = stack.pointer.value - kRedZoneBytes;
      const RemoteAddr from{std::max(at.value, low & ~std::uint64_t{7})};
      if (rest.thread != 0 || !is_guarded) add_named(rest, at, from);
      rest = {.kind = RootKind::Stack, .range = {}, .thread = stack.thread};
      at = from;
    }
    add_named(rest, at, mapping.range.end());
  }

  // Adds [from, to) of a mapping, with its own name for thread-local data in anonymous memory.
  void add_named(RootRange like, RemoteAddr from, RemoteAddr to) {
    if (like.name != kAnonymous) return add_parts(like, from, to);
    for (const Range& local : locals_) {
      if (local.end() <= from || local.start >= to) continue;
      const RemoteAddr start = std::max(from, local.start);
      add_parts(like, from, start);
      RootRange own = like;
      own.name = kThreadLocal;
      from = std::min(to, local.end());
      add_parts(own, start, from);
    }
    add_parts(like, from, to);
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
  std::vector<Range> excluded_;
  std::vector<Range> locals_;  // sorted
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

bool is_guard_within(std::span<const Mapping> all, std::size_t i) {
  // Larger ones are reserved for later, such as the rest of a thread's arena.
  constexpr std::uint64_t kMost = 1U << 20;
  const Mapping& guard = all[i];
  const bool is_guard = guard.is_private && guard.is_anonymous() && !guard.readable &&
                        !guard.writable && !guard.executable && guard.range.bytes <= kMost;
  if (!is_guard || i == 0 || i + 1 == all.size()) return false;
  const Mapping& before = all[i - 1];
  const Mapping& after = all[i + 1];
  return before.is_anonymous() && may_hold_allocations(before) &&
         before.range.end() == guard.range.start && after.is_anonymous() &&
         may_hold_allocations(after) && guard.range.end() == after.range.start;
}

bool is_generated_code(const Mapping& mapping) {
  return mapping.is_private && mapping.is_anonymous() && mapping.readable && mapping.executable &&
         (mapping.path.empty() || mapping.path.starts_with("[anon:"));
}

bool is_shared_memory(const Mapping& mapping) {
  const std::string_view path = mapping.path;
  if (mapping.is_private || !mapping.readable) return false;
  if (path.starts_with("/dev/zero") || path.starts_with("/memfd:") || path.starts_with("/SYSV") ||
      path.starts_with("/dev/shm/") || path.starts_with("/[aio]") ||
      path.starts_with("/anon_hugepage") || path == "anon_inode:[io_uring]") {
    return true;
  }
  return mapping.writable && path.starts_with('/') && !path.starts_with("/dev/");
}

std::vector<Range> data_of(const Modules& modules) {
  std::vector<Range> data;
  for (const Module& module : modules.all()) {
    for (const Segment& segment : module.segments()) {
      if (segment.writable) data.push_back(segment.range);
    }
  }
  return data;
}

std::vector<RootRange> find_roots(std::span<const Range> own,
                                  const MemoryMap& map,
                                  std::span<const Range> constants,
                                  std::span<const Range> touched,
                                  std::span<const FrozenThread> threads) {
  std::vector<RootRange> roots = RootSearch(own, map, threads).run();
  for (const Range& range : constants) {
    const Mapping* mapping = map.find(range.start);
    roots.push_back({.range = range, .is_packed = mapping != nullptr && mapping->executable});
  }
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
    // A stack may itself be an allocation, which its stack pointer keeps alive, and so may the data
    // of a thread.
    add(std::as_bytes(std::span(&thread.registers->stack_pointer.value, 1)));
    add(std::as_bytes(std::span(&thread.registers->thread_pointer.value, 1)));
  }
  return roots;
}

LiveSet find_reachable(const Heap& heap,
                       const Capture& capture,
                       std::vector<RootRange> roots,
                       std::span<const FrozenThread> threads,
                       unsigned workers,
                       ObjectSet free) {
  Marker marker(heap, free, workers);
  RootsOfThreads of_threads = words_of(threads);
  std::vector<RootWords> words = root_words(roots, capture);
  words.insert(words.end(), of_threads.words.begin(), of_threads.words.end());
  marker.trace(words, {});
  std::vector<OddReference> odd =
      look_again({.heap = heap,
                  .roots = words,
                  .is_live = [&](ObjectRef ref) { return marker.is_live(ref); },
                  .trace = [&](std::span<const ObjectRef> found) { marker.trace({}, found); },
                  .workers = workers});
  LiveSet found{std::move(marker).take_live(), std::move(free), std::move(roots),
                std::move(of_threads.stopped)};
  found.problems = std::move(of_threads.problems);
  found.odd = std::move(odd);
  return found;
}

}  // namespace heapattach::heap
