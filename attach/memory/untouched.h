#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "attach/base/fd.h"
#include "attach/base/remote_addr.h"
#include "attach/process/process.h"

namespace heapattach {

// Knows which private anonymous memory of a process was never written to. It is all zeros, so it
// need not be read, and must not be: some kernels (6.18) allocate it to the process when another
// process reads it. Safe to use from several threads at once.
class UntouchedMemory {
 public:
  // Looking up a shorter range takes longer than reading it.
  static constexpr std::uint64_t kLeastBytes = 64U << 10;

  // All memory counts as touched if the process's maps and pagemap cannot be opened.
  static UntouchedMemory of(const Process& process);
  UntouchedMemory(Fd maps, Fd pagemap) : maps_(std::move(maps)), pagemap_(std::move(pagemap)) {}

  // A piece of a range: all of it was never touched, or all of it must be read.
  struct Part {
    std::uint64_t bytes = 0;
    bool is_untouched = false;
  };
  // The parts of the first 16 MiB of a range, in order. One part for a short range; none only for
  // an empty one.
  [[nodiscard]] std::vector<Part> first_parts(Range range) const;

 private:
  [[nodiscard]] std::vector<Range> zeros() const;

  Fd maps_;
  Fd pagemap_;
  mutable std::mutex mutex_;  // guards the position in maps_
};

}  // namespace heapattach
