#pragma once

#include <cstddef>
#include <functional>

namespace heapattach {

// The number of workers worth starting for this many pieces of work: at most one per core, and at
// most `most`.
[[nodiscard]] unsigned workers_for(std::size_t pieces, unsigned most = ~0U);

// Runs `work(worker)` for each worker below `workers`, one of them on the calling thread. Returns
// when all have ended, and rethrows the first exception. There may be fewer workers if no more
// threads are available, so workers must take pieces of work until none is left, instead of a fixed
// share, and must not wait for each other (use attach/base/team.h for that).
void run_workers(unsigned workers, const std::function<void(unsigned worker)>& work);

}  // namespace heapattach
