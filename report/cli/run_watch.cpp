#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attach/guardian.h"
#include "report/analyze/watch.h"
#include "report/cli/errors.h"
#include "report/cli/gate.h"
#include "report/cli/growth_text.h"
#include "report/cli/reports.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// Counts the process again and again.
class Rounds {
 public:
  explicit Rounds(Job& job) : job_(job), gate_(job.options, job.console) {}

  // --timeout bounds each look at the process, not the waiting in between.
  Result<void> take() {
    const Clock::time_point start = Clock::now();
    for (unsigned round = 0; round <= job_.options.rounds; ++round) {
      HA_TRY(wait_until(start + round * job_.options.interval));
      job_.deadline = Deadline::in(job_.options.timeout);
      auto taken = HA_TRY(job_.sources.snapshot(job_.options, job_.deadline, job_.console));
      count(taken, round);
      // The first and the last are compared in the end.
      if (job_.taken.size() == 2) job_.taken.pop_back();
      job_.taken.push_back(std::move(taken));
    }
    return {};
  }

  // Time to write is not what the user took from us by an interrupt.
  Answer answer(const std::optional<Error>& end) && {
    job_.deadline = Deadline::in(job_.options.timeout);
    Answer answer;
    if (!is_complete_) answer.status = ExitStatus::Partial;
    if (end) answer.status = end_early(*end);
    const analyze::Difference all = watch_.all();
    gate_.judge([&](const FailIf& condition) { return measure(condition, all); }, answer);
    job_.deadline.interrupted = []() noexcept { return std::optional<int>(); };
    report_.kind = GrowthKind::Watch;
    report_.difference = watch_.difference();
    if (watch_.rounds() > 0 && !report_.difference.rows.empty()) {
      const std::vector<const snapshot::Snapshot*> compared{&job_.taken.front(),
                                                            &job_.taken.back()};
      add_holders(compared, job_.options.by, report_);
    }
    answer.text = growth_text(job_.options, gate_.rows(), std::move(report_));
    return answer;
  }

  [[nodiscard]] std::size_t taken() const { return watch_.rounds(); }

 private:
  void count(const snapshot::Snapshot& taken, unsigned round) {
    const snapshot::CountTable counts = count_objects(taken, job_.options.by);
    watch_.add(counts);
    gate_.add(taken);
    is_complete_ = is_complete_ && taken.complete;
    report_.sources.push_back({round == 0 ? "start" : fmt::format("round {}", round),
                               job_.options.pid, taken.header.exe, taken.header.captured,
                               counts.objects, counts.bytes});
    if (round == 0) return;
    job_.console.say(fmt::format("round {} of {}: {} types grew in each so far", round,
                                 job_.options.rounds, watch_.difference().rows.size()));
  }

  ExitStatus end_early(const Error& end) {
    report_.kinship.remarks.push_back(fmt::format(
        "it ended after {} of {} rounds: {}", watch_.rounds(), job_.options.rounds, end.message));
    return report_failure(end, Stage::Target, job_.deadline, job_.console);
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

  Job& job_;
  Gate gate_;
  analyze::Watch watch_;
  GrowthReport report_;
  bool is_complete_ = true;
};

}  // namespace

// If the process ends meanwhile, or the user ends us, what was seen until then is written.
Result<Answer> run_watch(Job& job) {
  Rounds rounds(job);
  const auto taken = rounds.take();
  if (!taken && rounds.taken() == 0) return taken.error();
  return std::move(rounds).answer(taken ? std::optional<Error>() : taken.error());
}

}  // namespace heapattach
