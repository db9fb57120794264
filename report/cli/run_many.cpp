#include "report/cli/run_many.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attach/base/interrupt.h"
#include "report/cli/errors.h"
#include "report/cli/find_processes.h"
#include "report/cli/output_name.h"
#include "report/cli/write_text.h"
#include "report/format/export/formats.h"
#include "report/format/write/output_file.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// A line before a report for people, if several go to one destination. False if there is none.
bool name_process(const Options& options, pid_t pid, bool is_first) {
  const bool is_for_people = options.format->read_by != ReadBy::Programs;
  if (!options.output.empty() || options.with_gzip || !is_for_people) return false;
  if (options.report == Report::Diagnose) return true;  // the line of each begins with its name
  auto output = OpenOutput::standard_output();
  if (!output) return false;
  OutputFile sink(std::move(output).value(), Deadline{});
  std::string name;
  const auto one = listed_process(pid);
  if (one && !options.redact) name = " " + terminal_text(one->name);
  static_cast<void>(sink.write(fmt::format("{}process {}{}\n", is_first ? "" : "\n", pid, name)));
  return true;
}

bool is_chosen_by_looks(const Options& options) {
  return options.tree || !options.name.empty();
}

// Whether the reports on all processes go to standard output, or to a file, as one.
bool are_joined(const Options& options, std::size_t processes) {
  const bool may_be_several = processes > 1 || is_chosen_by_looks(options);
  return may_be_several && options.format->join != nullptr && !has_file_for_each(options);
}

std::string words_for(ExitStatus status) {
  for (const StatusText& one : kStatusTexts) {
    if (one.status == status) return std::string(one.brief);
  }
  return {};
}

// A process without a report, for readers of the others.
ReportText without_report(const Options& options, ExitStatus status) {
  std::string name;
  if (const auto one = listed_process(options.pid); one && !options.redact) name = one->name;
  return {.pid = options.pid, .text = {}, .name = std::move(name), .why_not = words_for(status)};
}

// Nothing, unless it fails.
std::optional<ExitStatus> write_joined(const Options& options,
                                       const std::vector<ReportText>& reports,
                                       OpenOutput output,
                                       Console& console) {
  const bool has_any = std::any_of(reports.begin(), reports.end(),
                                   [](const ReportText& one) { return !one.text.empty(); });
  if (!has_any) return std::nullopt;
  const auto write = [&]() -> Result<void> {
    OutputFile sink(std::move(output), Deadline{});
    HA_TRY(write_shown(options, options.format->join(reports), sink));
    return sink.finish();
  };
  const auto written = write();
  if (written || has_reader_gone(options, written.error())) return std::nullopt;
  return report_failure(written.error(), Stage::Output, Deadline{}, console);
}

// The options for one of the processes.
Options options_for(const Options& options,
                    pid_t pid,
                    std::size_t processes,
                    std::vector<ReportText>& reports) {
  Options one = options;
  one.pid = pid;
  one.is_one_of_several = processes > 1;
  if (!are_joined(options, processes)) return one;
  one.gathered = &reports;
  one.output.clear();
  one.with_gzip = false;
  return one;
}

// The status of all runs. A condition that holds for one process matters more than what failed with
// another.
ExitStatus status_of_all(const Options& options, const std::vector<ExitStatus>& statuses) {
  bool any_complete = false;
  for (const ExitStatus status : statuses) {
    if (status == ExitStatus::FailIfHeld) return status;
  }
  for (const ExitStatus status : statuses) any_complete |= status == ExitStatus::Complete;
  for (const ExitStatus status : statuses) {
    const bool may_happen = status == ExitStatus::Gone || status == ExitStatus::NoHeap;
    const bool is_forgiven = is_chosen_by_looks(options) && any_complete && may_happen;
    if (status != ExitStatus::Complete && !is_forgiven) return status;
  }
  return ExitStatus::Complete;
}

}  // namespace

Result<std::vector<pid_t>> chosen_processes(const Options& options) {
  if (!is_chosen_by_looks(options)) return options.pids;
  const std::vector<ListedProcess> all = list_processes();
  std::vector<pid_t> chosen;
  for (const pid_t pid : options.pids) {
    for (const pid_t one : tree_of(all, pid)) chosen.push_back(one);
  }
  if (!options.name.empty()) chosen = named_like(all, options.name);
  if (!chosen.empty()) return chosen;
  if (!options.name.empty()) {
    return Error{ErrorKind::Gone, fmt::format("no process is called {}", options.name)};
  }
  return Error{ErrorKind::Gone, fmt::format("there is no process {}", options.pids.front())};
}

ExitStatus run_many(const Options& options,
                    const std::vector<pid_t>& pids,
                    const RunOne& run,
                    Console& console) {
  std::vector<ExitStatus> statuses;
  std::vector<ReportText> reports;
  const bool is_joined = are_joined(options, pids.size());
  auto output = is_joined ? open_output(options, Deadline{}) : OpenOutput::standard_output();
  if (!output) return report_failure(output.error(), Stage::Output, Deadline{}, console);
  bool is_cut_short = false;
  for (const pid_t pid : pids) {
    const Options one = options_for(options, pid, pids.size(), reports);
    const std::size_t gathered = reports.size();
    const bool is_named = pids.size() == 1 || name_process(options, pid, statuses.empty());
    if (!is_named) console.say(fmt::format("process {}:", pid));
    statuses.push_back(run(one));
    if (reports.size() == gathered) reports.push_back(without_report(one, statuses.back()));
    is_cut_short = interrupted_by().has_value() || statuses.back() == ExitStatus::Output;
    if (is_cut_short) break;
  }
  for (std::size_t i = statuses.size(); i < pids.size(); ++i) {
    Options one = options;
    one.pid = pids[i];
    reports.push_back(without_report(one, statuses.back()));
  }
  const auto failed =
      is_joined ? write_joined(options, reports, std::move(*output), console) : std::nullopt;
  if (failed) return *failed;
  return is_cut_short ? statuses.back() : status_of_all(options, statuses);
}

}  // namespace heapattach
