#pragma once

#include <functional>

namespace heapattach {

// Work that several threads do together, waiting for each other. Each part may be empty but `work`.
struct TeamWork {
  // Once, before the others: how many there will be.
  std::function<void(unsigned workers)> begin;
  // Of each worker, by number.
  std::function<void(unsigned worker)> work;
  // If a worker has thrown: must make all others return soon, also those that wait. Must not throw.
  std::function<void()> abandon;
};

// Runs the work with `most` workers, one of them the calling thread, or with as many as there are
// threads to be had, and returns when all have ended. The first exception of one is thrown again
// then.
void run_team(unsigned most, const TeamWork& team);

}  // namespace heapattach
