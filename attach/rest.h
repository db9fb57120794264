#pragma once

namespace heapattach {

// How long who waits for a thread of the target rests between two looks.
struct RestPlan {
  int yields;                // rounds in which only the processor is given up
  long longest_nanoseconds;  // of a rest
};

// A moment's rest, longer the longer nothing has happened: `round` counts looks without news.
void rest(int round, const RestPlan& plan);

}  // namespace heapattach
