#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbols/boehm/collector.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/mark.h"
#include "symbols/heap/source.h"

namespace heapattach::boehm {

// The unused parts of stacks, which may have been in use when the collection was called, and
// mappings that look like the stacks of ended fibers. `roots` has those of suspended fibers.
[[nodiscard]] std::vector<Range> stale_stacks(const heap::Copied& copied,
                                              std::span<const heap::RootRange> roots);

// All writable memory of the target, except its heap and the collector's own tables, in parts that
// StaleWords reads as a whole. If the last collection marked an object that is not reachable now, a
// word in this memory is or was the reason. Returns nothing if it is too much memory.
[[nodiscard]] std::optional<std::vector<Range>> unscanned_memory(
    const heap::Copied& copied,
    const Collector& collector,
    std::span<const Range> collector_data,
    const heap::BlockIndex& index);

// Finds words that reference objects that are neither alive nor free. Reads them from the process's
// present memory, not from the copy, because only words that still exist can explain why an object
// was marked. A program may have very many stacks, so this keeps no stack, and only one word for
// each object.
class StaleWords {
 public:
  // The heap and the live set must outlive this.
  StaleWords(const heap::Heap& heap, const heap::LiveSet& found);

  // Reads the last part of each stack, up to this size.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 10;
  void read(const std::vector<Range>& stacks, const MemoryReader& memory, const Deadline& deadline);

  // The words that were found. They are borrowed from this object.
  [[nodiscard]] heap::RootWords words() const;
  // The number of stacks for which there was no time.
  [[nodiscard]] std::uint64_t unread() const { return unread_; }
  // The number of stacks that could not be read.
  [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }

 private:
  void add(std::uint64_t word);

  const heap::Heap& heap_;
  const heap::LiveSet& found_;
  heap::ObjectSet seen_;
  std::vector<std::uint64_t> words_;
  std::uint64_t unread_ = 0;
  std::uint64_t unreadable_ = 0;
};

}  // namespace heapattach::boehm
