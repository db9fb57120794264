#pragma once

#include <functional>

namespace heapattach {

// Work that several threads do together, in which they may wait for each other. All members except
// `work` may be empty.
struct TeamWork {
  // Called once, first, with the number of workers.
  std::function<void(unsigned workers)> begin;
  // Called on each worker with its number.
  std::function<void(unsigned worker)> work;
  // Called if a worker has thrown. It must make all other workers return soon, including those that
  // are waiting, and must not throw.
  std::function<void()> abandon;
};

// Runs the work with up to `most` workers, one of them the calling thread. Returns when all have
// ended, and rethrows the first exception of a worker.
void run_team(unsigned most, const TeamWork& team);

}  // namespace heapattach
