#pragma once

#include <chrono>

namespace heapattach {

// Asks the guardian (guardian.h) not to end us for `time`, or until the end of this object, which
// may come earlier: the deadline counts again for what follows.
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
