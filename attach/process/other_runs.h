#pragma once

#include <chrono>
#include <random>

#include "attach/process/process.h"

namespace heapattach {

// Lets several runs of heapattach on one process take turns. Each run traces it only for some
// milliseconds, so after a refusal because of another run, it is worth trying again. Other programs
// may trace it for long, so they are reported at once.
class OtherRuns {
 public:
  OtherRuns();

  // Call it after a refusal, when no thread is traced. Waits a little, for a random time so that
  // two runs do not keep refusing each other. False if another program traces the process, or if
  // our time is up.
  bool wait_for_turn(const Process& process);

 private:
  std::chrono::steady_clock::time_point until_;
  std::minstd_rand random_;
};

}  // namespace heapattach
