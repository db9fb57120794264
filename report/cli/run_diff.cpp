#include "report/cli/run_diff.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/cli/failure.h"
#include "report/cli/growth_text.h"
#include "report/cli/judge.h"
#include "report/cli/summary.h"
#include "report/cli/write_text.h"
#include "report/format/export/html.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

std::string name_of(const Source& source) {
  return source.file.empty() ? fmt::format("process {}", source.pid) : source.file;
}

Result<std::vector<Snapshot>> take_all(const Options& options,
                                       const TakeSnapshot& take,
                                       const Deadline& deadline,
                                       Console& console) {
  std::vector<Snapshot> taken;
  for (const Source& source : options.compared) {
    console.step(fmt::format("reading {}", name_of(source)));
    Options one = options;
    one.pid = source.pid;
    one.file = source.file;
    const auto start = std::chrono::steady_clock::now();
    taken.push_back(HA_TRY(take(one, deadline, console)));
    // How long a process was held; a file has nothing to feel.
    if (source.pid == 0) continue;
    console.say(summary_line(count_objects(taken.back()), taken.back(),
                             std::chrono::steady_clock::now() - start));
  }
  return taken;
}

// Writes the report, whose rows are chosen yet to be.
Result<void> write_growth(const Options& options,
                          const Deadline& deadline,
                          OpenOutput output,
                          const std::vector<Snapshot>& taken,
                          GrowthReport report) {
  if (options.format != Format::Html) {
    return write_text(options, deadline, std::move(output),
                      growth_text(options, std::move(report)));
  }
  const auto order =
      report.has_kept() ? analyze::GrowthOrder::ByKept : analyze::GrowthOrder::ByGrowth;
  report.difference = choose_growth(std::move(report.difference), options.rows, order);
  OutputFile sink(std::move(output), deadline);
  ExportOptions how;
  how.with_gzip = options.with_gzip;
  how.deadline = deadline;
  HA_TRY(write_html_of_growth(taken.back(), report, sink, how));
  return sink.finish();
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
        {name, header.pid, header.exe, header.captured, sum.objects, sum.bytes});
    named.push_back({name, &taken[i]});
    pointers.push_back(&taken[i]);
  }
  report.kinship = snapshot::find_kinship(named);
  report.difference = analyze::compare(pointers, options.by);
  add_holders(pointers, options.by, report);
  return report;
}

}  // namespace

ExitStatus run_diff(const Options& options, const TakeSnapshot& take, Console& console) {
  const Deadline deadline = Deadline::in(options.timeout);
  auto output = open_output(options, deadline);
  if (!output) return report_failure(output.error(), Stage::Output, deadline, console);
  const auto taken = take_all(options, take, deadline, console);
  if (!taken) return report_failure(taken.error(), Stage::Target, deadline, console);

  const GrowthReport report = compare_all(options, *taken);
  Gate gate(options, console);
  for (const Snapshot& one : *taken) gate.add(one);
  Options chosen = options;
  chosen.rows = gate.rows();
  const auto written = write_growth(chosen, deadline, std::move(*output), *taken, report);
  if (!written) return report_failure(written.error(), Stage::Output, deadline, console);
  const auto judged =
      gate.judge([&](const FailIf& condition) { return measure(condition, report.difference); });
  if (judged) return *judged;
  const bool is_complete =
      std::all_of(taken->begin(), taken->end(), [](const Snapshot& one) { return one.complete; });
  return is_complete ? ExitStatus::Complete : ExitStatus::Partial;
}

}  // namespace heapattach
