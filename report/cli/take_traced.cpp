#include "report/cli/take_traced.h"

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "report/cli/waiting.h"

namespace heapattach {

namespace {

// The time of the recording is not the report's.
void begin_after_recording(Job& job) {
  job.deadline = without_interrupt(Deadline::in(job.options.timeout));
}

// Refuses at once, rather than after the recording, a process whose heap cannot be read. A look at
// a heap that a busy program changes may miss it, so one look is not enough.
Result<void> check_heap(Job& job, const Options& of_heap) {
  constexpr int kLooks = 10;
  constexpr std::chrono::milliseconds kBetweenLooks{50};
  for (int looks = 1;; ++looks) {
    const auto found = HA_TRY(job.sources.examination(of_heap, job.deadline, job.console));
    const bool is_missing = found.refusal == ErrorKind::Unsupported && !found.obstacles.empty();
    if (!is_missing) return {};
    if (looks == kLooks) return Error{ErrorKind::Unsupported, found.obstacles.front().reason};
    std::this_thread::sleep_for(kBetweenLooks);
    HA_TRY(job.deadline.check("looking for the heap"));
  }
}

}  // namespace

Result<TracedHeap> take_traced(Job& job, const Options& of_trace, const Options& of_heap) {
  HA_TRY(check_heap(job, of_heap));
  std::optional<Result<const snapshot::Snapshot*>> taken;
  const std::function<void()> take = [&] {
    begin_after_recording(job);
    taken.emplace(job.take(of_heap));
  };
  TracedHeap traced;
  traced.trace = std::make_shared<trace::Trace>(
      HA_TRY(job.sources.trace(of_trace, job.deadline, job.console, take)));
  job.left_in = traced.trace->header.left_in;
  begin_after_recording(job);
  if (!taken) return Error{ErrorKind::Impossible, traced.trace->header.reason};
  traced.heap = HA_TRY(*std::move(taken));
  return traced;
}

Options options_of_trace(const Options& options) {
  Options of = options;
  of.trace.every = options.with_trace.every.value_or(options.report == Report::Leaks
                                                         ? WithTraceOptions::kEveryOfLeaks
                                                         : WithTraceOptions::kEveryOfSuspects);
  of.trace.length = *options.with_trace.length;
  return of;
}

}  // namespace heapattach
