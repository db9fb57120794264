#include "report/cli/run_watch.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attach/guardian.h"
#include "report/analyze/watch.h"
#include "report/cli/failure.h"
#include "report/cli/growth_text.h"
#include "report/cli/judge.h"
#include "report/cli/write_text.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

class WatchRun {
 public:
  WatchRun(const Options& options, const TakeSnapshot& take, Console& console)
      : options_(options), take_(take), console_(console), gate_(options, console) {}

  ExitStatus go() {
    auto output = open_output(options_, limit());
    if (!output) return report_failure(output.error(), Stage::Output, limit(), console_);
    std::optional<ExitStatus> failure;
    const auto watched = take_rounds();
    if (!watched) {
      failure = report_failure(watched.error(), Stage::Target, limit(), console_);
      if (watch_.rounds() == 0) return *failure;
      report_.kinship.remarks.push_back(fmt::format("it ended after {} of {} rounds: {}",
                                                    watch_.rounds(), options_.rounds,
                                                    watched.error().message));
    }
    const auto written = write(std::move(*output));
    // Time to write is not what the user took from us by an interrupt.
    if (!written) return report_failure(written.error(), Stage::Output, limit(), console_);
    const analyze::Difference all = watch_.all();
    const auto judged =
        gate_.judge([&](const FailIf& condition) { return measure(condition, all); });
    if (judged) return *judged;
    if (failure) return *failure;
    return is_complete_ ? ExitStatus::Complete : ExitStatus::Partial;
  }

 private:
  // --timeout bounds each look at the process, not the waiting in between.
  [[nodiscard]] Deadline limit() const { return Deadline::in(options_.timeout); }

  Result<void> take_rounds() {
    const Clock::time_point start = Clock::now();
    for (unsigned round = 0; round <= options_.rounds; ++round) {
      HA_TRY(wait_until(start + round * options_.interval));
      snapshot::Snapshot taken = HA_TRY(take_(options_, limit(), console_));
      const snapshot::CountTable counts = count_objects(taken, options_.by);
      watch_.add(counts);
      gate_.add(taken);
      is_complete_ = is_complete_ && taken.complete;
      report_.sources.push_back({round == 0 ? "start" : fmt::format("round {}", round),
                                 options_.pid, taken.header.exe, taken.header.captured,
                                 counts.objects, counts.bytes});
      (round == 0 ? first_ : last_) = std::move(taken);
      if (round == 0) continue;
      console_.say(fmt::format("round {} of {}: {} types grew in each so far", round,
                               options_.rounds, watch_.difference().rows.size()));
    }
    return {};
  }

  static Result<void> wait_until(Clock::time_point until) {
    constexpr std::chrono::milliseconds kSlice(50);  // how soon an interrupt is noticed
    set_guarded_deadline(until + std::chrono::seconds(1));
    for (;;) {
      HA_TRY(check_interrupt());
      const auto now = Clock::now();
      if (now >= until) return {};
      std::this_thread::sleep_for(std::min<Clock::duration>(kSlice, until - now));
    }
  }

  Result<void> write(OpenOutput output) {
    report_.kind = GrowthKind::Watch;
    report_.difference = watch_.difference();
    if (watch_.rounds() > 0 && !report_.difference.rows.empty()) {
      add_holders(std::vector<const snapshot::Snapshot*>{&first_, &last_}, options_.by, report_);
    }
    Deadline deadline = limit();
    deadline.interrupted = []() noexcept { return std::optional<int>(); };
    Options chosen = options_;
    chosen.rows = gate_.rows();
    return write_text(chosen, deadline, std::move(output), growth_text(chosen, std::move(report_)));
  }

  const Options& options_;
  const TakeSnapshot& take_;
  Console& console_;
  Gate gate_;
  analyze::Watch watch_;
  snapshot::Snapshot first_;
  snapshot::Snapshot last_;  // of the rounds so far
  GrowthReport report_;
  bool is_complete_ = true;
};

}  // namespace

ExitStatus run_watch(const Options& options, const TakeSnapshot& take, Console& console) {
  return WatchRun(options, take, console).go();
}

}  // namespace heapattach
