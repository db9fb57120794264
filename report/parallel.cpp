#include "report/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "attach/base/team.h"

namespace heapattach {

namespace {

std::atomic<int> reasons_for_one{0};

}  // namespace

WithOneWorker::WithOneWorker() {
  ++reasons_for_one;
}

WithOneWorker::~WithOneWorker() {
  --reasons_for_one;
}

unsigned workers_for(std::size_t pieces) {
  if (reasons_for_one > 0) return 1;
  constexpr std::size_t kMostWorkers = 32;  // past this the memory bus is the limit
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, std::min(cores, kMostWorkers)));
}

void run_workers(unsigned workers, const std::function<void(unsigned)>& work) {
  run_team(workers, {.begin = {}, .work = work, .abandon = {}});
}

}  // namespace heapattach
