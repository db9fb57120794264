#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/analyze/watch.h"
#include "report/cli/errors.h"
#include "report/cli/gate.h"
#include "report/cli/growth_text.h"
#include "report/cli/reports.h"
#include "report/cli/waiting.h"
#include "report/cli/write_text.h"
#include "report/format/export/formats.h"
#include "report/text/human_bytes.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// Counts the process again and again.
class Rounds {
 public:
  explicit Rounds(Job& job) : job_(job), gate_(job.options, job.console) {}

  // --timeout bounds each count of the process, not the waiting in between.
  Result<void> take() {
    const Clock::time_point start = Clock::now();
    for (unsigned round = 0; round <= job_.options.rounds; ++round) {
      HA_TRY(wait_until(start + round * job_.options.interval));
      job_.deadline = Deadline::in(job_.options.timeout);
      auto taken = HA_TRY(job_.sources.snapshot(job_.options, job_.deadline, job_.console));
      count(taken, round);
      if (has_metrics()) {
        if (is_published()) HA_TRY(publish());
        continue;
      }
      // The first and the last are compared in the end.
      if (job_.taken.size() == 2) job_.taken.pop_back();
      job_.taken.push_back(std::move(taken));
    }
    return {};
  }

  Answer answer(const std::optional<Error>& end) && {
    job_.deadline = Deadline::in(job_.options.timeout);
    Answer answer;
    if (!is_complete_) answer.status = ExitStatus::Partial;
    if (end) answer.status = end_early(*end);
    const analyze::Difference all = watch_.all();
    gate_.judge([&](const FailIf& condition) { return measure(condition, all); }, answer);
    job_.deadline = without_interrupt(job_.deadline);
    answer.is_written = is_published();
    answer.text = has_metrics() ? metrics() : growth();
    return answer;
  }

  [[nodiscard]] std::size_t taken() const { return watch_.rounds(); }

 private:
  // The counts of single rounds are written, not what grew.
  [[nodiscard]] bool has_metrics() const {
    return static_cast<bool>(job_.options.format->latest_counts);
  }
  // They go to the file in each round; others read it meanwhile.
  [[nodiscard]] bool is_published() const { return has_metrics() && !job_.options.output.empty(); }

  [[nodiscard]] std::string metrics() const {
    return job_.options.format->latest_counts(choose_rows(latest_, gate_.rows()), {});
  }

  // Replaces what the round before has written.
  Result<void> publish() {
    job_.stage = Stage::Output;
    Options again = job_.options;
    again.force = true;
    OpenOutput output = has_published_ ? HA_TRY(open_output(again, job_.deadline))
                                       : OpenOutput(std::move(job_.output));
    has_published_ = true;
    OutputFile sink(std::move(output), job_.deadline);
    HA_TRY(write_shown(job_.options, metrics(), sink));
    HA_TRY(sink.finish());
    job_.stage = Stage::Target;
    return {};
  }

  [[nodiscard]] std::string growth() {
    report_.kind = GrowthKind::Watch;
    report_.difference = watch_.difference();
    if (watch_.rounds() > 0 && !report_.difference.rows.empty()) {
      const std::vector<const snapshot::Snapshot*> compared{&job_.taken.front(),
                                                            &job_.taken.back()};
      add_holders(compared, job_.options.by, report_);
    }
    return growth_text(job_.options, gate_.rows(), std::move(report_));
  }

  void count(const snapshot::Snapshot& taken, unsigned round) {
    const snapshot::CountTable& counts = latest_ = count_objects(taken, job_.options.by);
    watch_.add(counts);
    gate_.add(taken);
    is_complete_ = is_complete_ && taken.complete;
    report_.sources.push_back({round == 0 ? "start" : fmt::format("round {}", round),
                               job_.options.pid, taken.header.exe, taken.header.captured,
                               counts.objects, counts.bytes, taken.header.resource});
    if (round == 0) return;
    job_.console.say(fmt::format("round {} of {}: {} grew in each round so far", round,
                                 job_.options.rounds,
                                 counted(watch_.difference().rows.size(), "type")));
  }

  ExitStatus end_early(const Error& end) {
    report_.origins.remarks.push_back(fmt::format("the watch ended after {} of {} rounds: {}",
                                                  watch_.rounds(), job_.options.rounds,
                                                  end.message()));
    return report_failure(end, Stage::Target, job_.deadline, job_.console);
  }

  Job& job_;
  Gate gate_;
  analyze::Watch watch_;
  GrowthReport report_;
  snapshot::CountTable latest_;  // of the last round
  bool has_published_ = false;
  bool is_complete_ = true;
};

}  // namespace

// If the process ends meanwhile, or the user ends us, the results so far are written.
Result<Answer> run_watch(Job& job) {
  Rounds rounds(job);
  const auto taken = rounds.take();
  const bool is_lost = rounds.taken() == 0 || job.stage == Stage::Output;
  if (!taken && is_lost) return taken.error();
  return std::move(rounds).answer(taken ? std::optional<Error>() : taken.error());
}

}  // namespace heapattach
