#include "report/parallel.h"

#include <algorithm>
#include <thread>

#include "attach/team.h"

namespace heapattach {

unsigned workers_for(std::size_t pieces) {
  constexpr std::size_t kMostWorkers = 32;  // past this the memory bus is the limit
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, std::min(cores, kMostWorkers)));
}

void run_workers(unsigned workers, const std::function<void(unsigned)>& work) {
  run_team(workers, {.begin = {}, .work = work, .abandon = {}});
}

}  // namespace heapattach
