#pragma once

#include <functional>

namespace heapattach {

// Work that several threads do together, waiting for each other. All parts but `work` may be empty.
struct TeamWork {
  // Called once, before the others, with the number of workers.
  std::function<void(unsigned workers)> begin;
  // Called for each worker, by number.
  std::function<void(unsigned worker)> work;
  // Called if a worker has thrown. It must make all others return soon, including those that wait,
  // and must not throw.
  std::function<void()> abandon;
};

// Runs the work with `most` workers, one of them the calling thread, or with as many threads as are
// available. Returns when all have ended, and rethrows the first exception of a worker.
void run_team(unsigned most, const TeamWork& team);

}  // namespace heapattach
