#pragma once

#include <cstddef>
#include <functional>

namespace heapattach {

// How many workers are worth starting for `pieces` pieces of work: at most one per core.
[[nodiscard]] unsigned workers_for(std::size_t pieces);

// Runs `work(worker)` for each worker below `workers`, the last on the calling thread, and returns
// when all have ended. The first exception of a worker is thrown again then.
void run_workers(unsigned workers, const std::function<void(unsigned worker)>& work);

}  // namespace heapattach
