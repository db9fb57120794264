#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "symbols/boehm/thread_records.h"

// GC_push_all_stacks in pthread_stop_world.c and GC_push_all_stack_sections in mark_rts.c.

namespace heapattach::boehm {
namespace {

// Whole words from `start` to `end`.
Range words_between(RemoteAddr start, RemoteAddr end) {
  const std::uint64_t first = (start.value + 7) & ~std::uint64_t{7};
  const std::uint64_t last = end.value & ~std::uint64_t{7};
  return {{first}, last > first ? last - first : 0};
}

bool is_end_of(const heap::RootRange& stack, RemoteAddr at) {
  return at > stack.range.start && at <= stack.range.end();
}

class StackScan {
 public:
  StackScan(std::span<const heap::RootRange> roots,
            std::span<const ThreadRecord> records,
            std::optional<RemoteAddr> stack_bottom,
            pid_t pid)
      : roots_(roots), records_(records), stack_bottom_(stack_bottom), pid_(pid) {}

  ScannedStacks scan() {
    for (const heap::RootRange& root : roots_) {
      if (root.thread != 0) {
        scan_stack(root);
      } else {
        found_.ranges.push_back(root);
      }
    }
    return std::move(found_);
  }

 private:
  void scan_stack(const heap::RootRange& root) {
    const auto record = std::find_if(records_.begin(), records_.end(), [&](const ThreadRecord& r) {
      return r.thread == root.thread;
    });
    const bool is_known = record != records_.end() && record->is_understood;
    if (root.fiber != 0 && !is_known) {
      keep(root, root.range);
    } else if (record == records_.end()) {
      scan_unknown(root);
    } else if (!record->is_understood) {
      scan_to(root, is_first(root) ? stack_bottom_ : record->stack_end);
    } else {
      scan_known(root, *record);
    }
  }

  [[nodiscard]] bool is_first(const heap::RootRange& root) const {
    return root.thread == pid_ || (stack_bottom_ && is_end_of(root, *stack_bottom_));
  }

  // The first thread's stack counts even without a record: in a collector without threads.
  void scan_unknown(const heap::RootRange& root) {
    if (is_first(root)) {
      scan_to(root, stack_bottom_);
    } else if (records_.empty()) {
      keep(root, root.range);
    }
  }

  void scan_to(const heap::RootRange& root, std::optional<RemoteAddr> end) {
    keep(root, end && is_end_of(root, *end) ? words_between(root.range.start, *end) : root.range);
  }

  void scan_known(const heap::RootRange& root, const ThreadRecord& record) {
    heap::RootRange from = root;
    if (record.blocked_at) {
      const bool is_inside = root.range.contains(*record.blocked_at);
      if (is_inside) from.range = words_between(*record.blocked_at, root.range.end());
    }
    const std::optional<RemoteAddr> end = end_of(from, record);
    if (!end || !is_end_of(from, *end)) {
      keep(root, root.range);
      if (!end || !is_a_fibers(*end)) add_problem(root, end);
      return;
    }
    for (const ThreadRecord::Section& section : record.sections) {
      if (section.at <= from.range.start || section.saved > *end) continue;
      found_.ranges.push_back(part_of(root, words_between(from.range.start, section.at)));
      from.range.start = section.saved;
    }
    found_.ranges.push_back(part_of(root, words_between(from.range.start, *end)));
    if (!record.blocked_at) found_.with_registers.push_back(root.thread);
  }

  // The address where the next collection would stop scanning. The end that is recorded for the
  // thread may belong to a fiber that has ended: the program updates it only when a collection
  // begins.
  [[nodiscard]] std::optional<RemoteAddr> end_of(const heap::RootRange& root,
                                                 const ThreadRecord& record) const {
    if (root.fiber != 0) return root.range.end();
    if (record.alternate_stack && record.alternate_stack->contains(root.range.start)) {
      return record.alternate_stack->end();
    }
    if (record.has_own_end) return record.stack_end;
    // The end in the first thread's record may be outdated.
    return stack_bottom_ ? stack_bottom_ : root.range.end();
  }

  // A thread that switches to another fiber is on neither for a moment.
  [[nodiscard]] bool is_a_fibers(RemoteAddr end) const {
    return std::any_of(roots_.begin(), roots_.end(), [&](const heap::RootRange& root) {
      return root.kind == heap::RootKind::Fiber && is_end_of(root, end);
    });
  }

  void add_problem(const heap::RootRange& root, std::optional<RemoteAddr> end) {
    found_.problems.push_back(
        fmt::format("the stack pointer of thread {} ({}) is not on the stack that the collector "
                    "scans{}",
                    root.thread, root.range.start,
                    end ? fmt::format(", which ends at {}", *end) : std::string()));
  }

  static heap::RootRange part_of(heap::RootRange root, const Range& range) {
    root.range = range;
    return root;
  }
  void keep(const heap::RootRange& root, const Range& range) {
    found_.ranges.push_back(part_of(root, range));
    found_.with_registers.push_back(root.thread);
  }

  std::span<const heap::RootRange> roots_;
  std::span<const ThreadRecord> records_;
  std::optional<RemoteAddr> stack_bottom_;
  pid_t pid_;
  ScannedStacks found_;
};

// A stack in an object ends with the object; any other where the heap begins.
RemoteAddr end_before_heap(const heap::RootRange& stack, const heap::Heap& heap) {
  if (const auto object = heap.resolve(stack.range.start.value, heap::Heap::From::Stack)) {
    return heap.address(*object) + heap.blocks()[object->block].object_bytes;
  }
  const auto blocks = heap.blocks();
  const auto next = std::partition_point(blocks.begin(), blocks.end(), [&](const heap::Block& b) {
    return b.start < stack.range.start;
  });
  return next == blocks.end() ? stack.range.end() : std::min(next->start, stack.range.end());
}

}  // namespace

std::optional<RemoteAddr> likely_stack_bottom(const heap::Heap& heap,
                                              const Capture& capture,
                                              std::span<const Range> collector_data,
                                              std::span<const Range> excluded,
                                              const heap::RootRange& stack) {
  const RemoteAddr limit = end_before_heap(stack, heap);
  std::optional<RemoteAddr> bottom;
  for (const Range& range : collector_data) {
    const auto bytes = capture.bytes_from(range.start);
    for (std::uint64_t i = 0; i + 8 <= std::min<std::uint64_t>(bytes.size(), range.bytes); i += 8) {
      RemoteAddr word;
      std::memcpy(&word.value, bytes.data() + i, sizeof word.value);
      if (word <= bottom.value_or(stack.range.start) || word > limit) continue;
      const bool is_table = std::any_of(excluded.begin(), excluded.end(), [&](const Range& table) {
        return table.contains(range.start + i);
      });
      if (!is_table && word.value % 8 == 0) bottom = word;
    }
  }
  return bottom;
}

ScannedStacks scan_stacks(std::span<const heap::RootRange> roots,
                          std::span<const ThreadRecord> records,
                          std::optional<RemoteAddr> stack_bottom,
                          pid_t pid) {
  return StackScan(roots, records, stack_bottom, pid).scan();
}

}  // namespace heapattach::boehm
