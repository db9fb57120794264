#pragma once

#include <chrono>

namespace heapattach {

// While this object lives, but for at most `time`, the guardian (guardian.h) does not end us at the
// deadline. After that, the deadline counts again.
class NeededTime {
 public:
  explicit NeededTime(std::chrono::milliseconds time) noexcept;
  ~NeededTime();
  NeededTime(const NeededTime&) = delete;
  NeededTime& operator=(const NeededTime&) = delete;

 private:
  std::chrono::steady_clock::rep before_ = 0;
};

}  // namespace heapattach
