#include "attach/process/other_runs.h"

#include <algorithm>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/base/guardian.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{5};
constexpr int kLongestWaitMs = 20;

std::string name_of(pid_t thread) {
  const auto file = Fd::open(fmt::format("/proc/{}/comm", thread), 0);
  auto name = file ? read_all(*file, 64) : Result<std::string>(std::string());
  return name ? *std::move(name) : std::string();
}

// The tracer of any of the process's threads; 0 if none is traced any more.
pid_t tracer_of(const Process& process) {
  const auto listing = process.list_threads();
  if (!listing) return 0;
  for (const pid_t tid : listing->tids) {
    const auto status = process.thread_status(tid);
    if (status && status->tracer != 0) return status->tracer;
  }
  return 0;
}

}  // namespace

OtherRuns::OtherRuns() : random_(static_cast<unsigned>(gettid())) {
  const auto now = Clock::now();
  const auto half = (guarded_deadline() - now) / 2;
  until_ = now + std::min<Clock::duration>(kPatience, half);
}

bool OtherRuns::wait_for_turn(const Process& process) {
  if (Clock::now() >= until_) return false;
  const pid_t tracer = tracer_of(process);
  if (tracer != 0) {
    const std::string name = name_of(tracer);
    const bool is_over = name.empty();
    if (!is_over && name != "heapattach\n") return false;
  }
  std::uniform_int_distribution<int> wait(1, kLongestWaitMs);
  std::this_thread::sleep_for(std::chrono::milliseconds(wait(random_)));
  return true;
}

}  // namespace heapattach
