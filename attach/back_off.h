#pragma once

namespace heapattach {

// Back-off schedule for polling a target thread.
struct BackOff {
  int yields;                // rounds that only yield the processor
  long longest_nanoseconds;  // longest sleep
};

// Waits a moment, longer as `round` grows: `round` counts polls without news.
void back_off(int round, const BackOff& plan);

}  // namespace heapattach
