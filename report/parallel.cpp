#include "report/parallel.h"

#include <algorithm>
#include <thread>

#include "attach/base/team.h"

namespace heapattach {

unsigned workers_for(std::size_t pieces, unsigned most) {
  constexpr std::size_t kMostWorkers = 32;  // past this the memory bus is the limit
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t limit = std::min<std::size_t>({cores, kMostWorkers, most});
  return static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, limit));
}

void run_workers(unsigned workers, const std::function<void(unsigned)>& work) {
  run_team(workers, {.begin = {}, .work = work, .abandon = {}});
}

}  // namespace heapattach
