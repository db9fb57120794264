#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "symbols/unwind/samples.h"

namespace heapattach::trace {

// Copies of stacks that wait to be unwound, oldest first. Nothing reads the ring while a batch is
// unwound, so batches are sized to take only a moment, however busy the machine is, but large
// enough to be worth starting a worker.
class WaitingStacks {
 public:
  static constexpr std::size_t kLeast = 512;
  static constexpr std::chrono::milliseconds kMoment{250};

  void add(unwind::StackSample stack);
  [[nodiscard]] std::span<const unwind::StackSample> all() const { return stacks_; }
  // The oldest copies, as many as a batch has.
  [[nodiscard]] std::span<const unwind::StackSample> batch() const;
  // Removes the oldest `count`. Unwinding them took `took`.
  void remove(std::size_t count, std::chrono::nanoseconds took);

  [[nodiscard]] std::size_t size() const { return stacks_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::vector<unwind::StackSample> stacks_;
  std::size_t bytes_ = 0;
  std::size_t most_ = kLeast;  // the size of a batch
};

}  // namespace heapattach::trace
