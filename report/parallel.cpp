#include "report/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace heapattach {

unsigned workers_for(std::size_t pieces) {
  constexpr std::size_t kMostWorkers = 32;  // past this the memory bus is the limit
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::size_t>(pieces, 1, std::min(cores, kMostWorkers)));
}

void run_workers(unsigned workers, const std::function<void(unsigned worker)>& work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](unsigned worker) {
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned worker = 0; worker + 1 < workers; ++worker) threads.emplace_back(guarded, worker);
    guarded(workers - 1);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace heapattach
