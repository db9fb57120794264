#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "symbols/boehm/collector.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/source.h"

namespace heapattach::boehm {

// Looks for signs that some roots of a live set were not seen: how the collector scans stacks may
// be unknown, and the last collection may have marked more. Adds them to the set's problems.
class LiveCheck {
 public:
  // Borrows everything. `counters` are from the time of the copy, and `roots` contains the stacks
  // of suspended fibers.
  LiveCheck(const Collector& collector,
            std::span<const Range> collector_data,
            const heap::Counters& counters,
            const heap::Copied& copied,
            std::span<const heap::RootRange> roots)
      : collector_(collector),
        collector_data_(collector_data),
        counters_(counters),
        copied_(copied),
        roots_(roots) {}

  // Looks for these signs. Sets other marking rules in `heap` meanwhile, and restores its own.
  void run(heap::Heap& heap, unsigned workers, heap::LiveSet& found) const;

 private:
  void check_stack_bases(heap::Heap& heap, heap::LiveSet& found) const;
  void compare_with_marks(const heap::Heap& heap, unsigned workers, heap::LiveSet& found) const;
  [[nodiscard]] std::uint64_t count_possible(const heap::Heap& heap,
                                             const heap::LiveSet& found,
                                             const heap::ObjectSet& dropped,
                                             unsigned workers) const;

  const Collector& collector_;
  std::span<const Range> collector_data_;
  const heap::Counters& counters_;
  const heap::Copied& copied_;
  std::span<const heap::RootRange> roots_;
};

}  // namespace heapattach::boehm
