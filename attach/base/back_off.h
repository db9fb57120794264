#pragma once

namespace heapattach {

// Back-off schedule for polling a target thread.
struct BackOff {
  int yields;                // rounds that only yield the processor
  long longest_nanoseconds;  // longest sleep
};

// Waits briefly, and longer as `round` grows. `round` counts the polls in a row that found nothing
// new.
void back_off(int round, const BackOff& plan);

}  // namespace heapattach
