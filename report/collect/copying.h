#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/process/descriptors.h"
#include "report/collect/held_heap.h"
#include "report/collect/wait_reader.h"

namespace heapattach::snapshot {

// The source of a copy of the heap: the target, or a clone of it.
struct CopySource {
  const Process* process;  // null for a core file, which is loaded into the target
  const MemoryReader& memory;
  // Set if the heap is not copied, but accessed through a window, which may take this many bytes
  // even where it needs less.
  std::optional<std::uint64_t> window_room{};
};

// One attempt to copy the source, which is stopped unless Hold::Nothing was chosen. Borrows
// everything.
class Copying {
 public:
  Copying(const Target& target,
          CopySource source,
          HeldHeap& held,
          std::chrono::steady_clock::time_point deadline);

  // Also records which memory of the target is resident.
  Copying& with_memory(bool is_wanted) {
    with_memory_ = is_wanted;
    return *this;
  }

  // The descriptors of a moment ago, for the search of what the kernel keeps for them.
  Copying& with_descriptors(std::span<const Descriptor> before) {
    descriptors_ = before;
    return *this;
  }

  // Also copies the memory from which the waits of threads and fibers are read. Null if they are
  // not needed.
  Copying& with_waits(const WaitReader* reader) {
    waits_ = reader;
    return *this;
  }

  // Also copies large objects without pointers in full, which only some reports need.
  Copying& with_contents(bool is_wanted) {
    with_contents_ = is_wanted;
    return *this;
  }

  // Returns false if the index was inconsistent; then nothing was copied.
  Result<bool> copy(const std::vector<FrozenThread>& threads, bool accept_misfits);

 private:
  // Copies the heap, or opens a window on it. Returns the ranges that are then available, sorted.
  Result<void> add_contents(const std::vector<Range>& ranges);
  Result<std::vector<Range>> add_heap(std::vector<Range> heap);
  // Copies all private memory and the other places of references. Returns the copied ranges.
  Result<std::vector<Range>> add_everything();
  void add_fibers(const std::vector<FrozenThread>& threads);
  void add_fiber(const crystal::FiberStack& fiber);

  const Target& target_;
  CopySource source_;
  HeldHeap& held_;
  CopyLimits limits_;
  std::uint64_t in_use_ = 0;  // most_used_bytes() at the beginning of copy()
  const WaitReader* waits_ = nullptr;
  std::span<const Descriptor> descriptors_;
  bool with_memory_ = false;
  bool with_contents_ = false;
};

}  // namespace heapattach::snapshot
