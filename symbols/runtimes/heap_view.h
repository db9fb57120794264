#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/heap/heap.h"
#include "symbols/heap/mark.h"

namespace heapattach::runtimes {

// Gives a runtime's reader access to a heap: the copy of its objects, other captured memory, and
// memory that was not captured (such as constants of compiled files), which is read from the target
// on demand.
class HeapView {
 public:
  // Borrows its arguments. `listed` are the objects to name.
  HeapView(const heap::Heap& heap,
           const heap::ObjectSet& listed,
           const MemoryMap& map,
           const MemoryReader& captured,
           const MemoryReader& outside)
      : heap_(heap), listed_(listed), map_(map), captured_(captured), outside_(outside) {}

  [[nodiscard]] const heap::Heap& heap() const { return heap_; }
  [[nodiscard]] const heap::ObjectSet& listed() const { return listed_; }
  // The heap and everything else that was copied.
  [[nodiscard]] const MemoryReader& captured() const { return captured_; }

  // The listed object that starts exactly at `at`.
  [[nodiscard]] std::optional<heap::ObjectRef> object_at(std::uint64_t at) const;
  // Whether a value may refer to `at`, because a listed object starts there or because it is
  // readable memory outside the heap's blocks.
  [[nodiscard]] bool may_refer_to(std::uint64_t at) const;
  // A word of an object, or of any other readable memory.
  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const;
  // Reads up to 256 bytes of the memory that a value refers to.
  [[nodiscard]] std::vector<std::byte> bytes(std::uint64_t at, std::uint64_t count) const;
  // Characters of `width` bytes each, in UTF-8; as many as bytes() reads.
  [[nodiscard]] std::string text(std::uint64_t at, std::uint64_t count, std::uint64_t width) const;

 private:
  const heap::Heap& heap_;
  const heap::ObjectSet& listed_;
  const MemoryMap& map_;
  const MemoryReader& captured_;
  const MemoryReader& outside_;
};

// Whether an object of `object_bytes` may have been allocated for `needed` bytes. The collector
// rounds up to 16, and merges size classes that are close to each other (GC_extend_size_map in
// misc.c).
[[nodiscard]] bool fits(std::uint64_t object_bytes, std::uint64_t needed);

}  // namespace heapattach::runtimes
