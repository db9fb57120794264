#pragma once

namespace heapattach {

// Back-off schedule for polling a target thread.
struct RestPlan {
  int yields;                // rounds that only yield the processor
  long longest_nanoseconds;  // longest sleep
};

// Waits a moment, longer as `round` grows: `round` counts polls without news.
void rest(int round, const RestPlan& plan);

}  // namespace heapattach
