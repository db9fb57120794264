#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/cli/gate.h"
#include "report/cli/growth_text.h"
#include "report/cli/reports.h"
#include "report/cli/summary.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

std::string name_of(const Source& source) {
  return source.file.empty() ? fmt::format("process {}", source.pid) : source.file;
}

Result<void> take_all(Job& job) {
  const Options& options = job.options;
  for (const Source& source : options.compared) {
    job.console.step(fmt::format("reading {}", name_of(source)));
    Options one = options;
    one.pid = source.pid;
    one.file = source.file;
    const auto start = std::chrono::steady_clock::now();
    const Snapshot& taken = *HA_TRY(job.take(one));
    // How long a process was held.
    if (source.pid == 0) continue;
    job.console.say(
        summary_line(count_objects(taken), taken, std::chrono::steady_clock::now() - start));
  }
  return {};
}

// Writes the difference as a page for a browser.
Result<bool> write_page(const Job& job,
                        GrowthReport report,
                        const snapshot::RowChoice& rows,
                        Sink& sink) {
  const auto order =
      report.has_kept() ? analyze::GrowthOrder::ByKept : analyze::GrowthOrder::ByGrowth;
  report.difference = choose_growth(std::move(report.difference), rows, order);
  ExportOptions how;
  how.with_gzip = job.options.with_gzip;
  how.deadline = job.deadline;
  HA_TRY(job.options.format->growth_page(job.taken.back(), report, sink, how));
  return true;
}

GrowthReport compare_all(const Options& options, const std::vector<Snapshot>& taken) {
  GrowthReport report;
  report.kind = taken.size() == 3 ? GrowthKind::Three : GrowthKind::Two;
  std::vector<snapshot::NamedSnapshot> named;
  std::vector<const Snapshot*> pointers;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const snapshot::Header& header = taken[i].header;
    const std::string name = name_of(options.compared[i]);
    const analyze::Amount sum = analyze::reachable(taken[i]);
    report.sources.push_back(
        {name, header.pid, header.exe, header.captured, sum.objects, sum.bytes, header.resource});
    named.push_back({name, &taken[i]});
    pointers.push_back(&taken[i]);
  }
  report.origins = snapshot::check_origins(named);
  report.difference = analyze::compare(pointers, options.by);
  add_holders(pointers, options.by, report);
  return report;
}

}  // namespace

Result<Answer> run_diff(Job& job) {
  HA_TRY(take_all(job));
  const GrowthReport report = compare_all(job.options, job.taken);
  Gate gate(job.options, job.console);
  for (const Snapshot& one : job.taken) gate.add(one);
  const snapshot::RowChoice rows = gate.rows();
  Answer answer;
  const bool is_complete = std::all_of(job.taken.begin(), job.taken.end(),
                                       [](const Snapshot& one) { return one.complete; });
  if (!is_complete) answer.status = ExitStatus::Partial;
  gate.judge([&](const FailIf& condition) { return measure(condition, report.difference); },
             answer);
  if (job.options.format->growth_page != nullptr) {
    answer.write = [&job, report, rows](Sink& sink) { return write_page(job, report, rows, sink); };
  } else {
    answer.text = growth_text(job.options, rows, report);
  }
  return answer;
}

}  // namespace heapattach
