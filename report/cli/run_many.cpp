#include "report/cli/run_many.h"

#include <optional>

#include <fmt/format.h>

#include "attach/base/interrupt.h"
#include "report/cli/errors.h"
#include "report/cli/find_processes.h"
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
  if (const auto one = listed_process(pid); one && !options.redact)
    name = " " + terminal_text(one->name);
  static_cast<void>(sink.write(fmt::format("{}process {}{}\n", is_first ? "" : "\n", pid, name)));
  return true;
}

bool is_chosen_by_looks(const Options& options) {
  return options.tree || !options.name.empty();
}

// Whether the reports on all processes go to standard output as one.
bool are_joined(const Options& options, std::size_t processes) {
  const bool may_be_several = processes > 1 || is_chosen_by_looks(options);
  return may_be_several && options.format->join != nullptr && options.output.empty();
}

// Nothing, unless it fails.
std::optional<ExitStatus> write_joined(const Options& options,
                                       const std::vector<ReportText>& reports,
                                       Console& console) {
  if (reports.empty()) return std::nullopt;
  const auto write = [&]() -> Result<void> {
    OutputFile sink(HA_TRY(OpenOutput::standard_output()), Deadline{});
    HA_TRY(write_shown(options, options.format->join(reports), sink));
    return sink.finish();
  };
  const auto written = write();
  if (written || has_reader_gone(options, written.error())) return std::nullopt;
  return report_failure(written.error(), Stage::Output, Deadline{}, console);
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
  bool is_cut_short = false;
  for (const pid_t pid : pids) {
    Options one = options;
    one.pid = pid;
    one.is_one_of_several = pids.size() > 1;
    if (are_joined(options, pids.size())) one.gathered = &reports;
    if (pids.size() > 1) {
      const bool is_named = name_process(options, pid, statuses.empty());
      if (!is_named) console.say(fmt::format("process {}:", pid));
    }
    statuses.push_back(run(one));
    is_cut_short = interrupted_by().has_value() || statuses.back() == ExitStatus::Output;
    if (is_cut_short) break;
  }
  if (const auto failed = write_joined(options, reports, console)) return *failed;
  return is_cut_short ? statuses.back() : status_of_all(options, statuses);
}

}  // namespace heapattach
