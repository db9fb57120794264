#pragma once

#include <cstddef>
#include <functional>

namespace heapattach {

// How many workers are worth starting for `pieces` pieces of work: at most one per core.
[[nodiscard]] unsigned workers_for(std::size_t pieces);

// While one lives workers_for is 1: for work that many threads do no faster.
class WithOneWorker {
 public:
  WithOneWorker();
  ~WithOneWorker();
  WithOneWorker(const WithOneWorker&) = delete;
  WithOneWorker& operator=(const WithOneWorker&) = delete;
};

// Runs `work(worker)` for each worker below `workers`, one of them on the calling thread, and
// returns when all have ended. The first exception of one is thrown again then. Where no further
// thread can be had there are fewer: they must take pieces of the work until none is left, not the
// piece of their number, and none may wait for another (attach/team.h is for that).
void run_workers(unsigned workers, const std::function<void(unsigned worker)>& work);

}  // namespace heapattach
