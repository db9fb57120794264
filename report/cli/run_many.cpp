#include "report/cli/run_many.h"

#include <fmt/format.h>

#include "attach/base/interrupt.h"
#include "report/cli/find_processes.h"
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
  for (const pid_t pid : pids) {
    Options one = options;
    one.pid = pid;
    one.is_one_of_several = pids.size() > 1;
    if (pids.size() > 1) {
      const bool is_named = name_process(options, pid, statuses.empty());
      if (!is_named) console.say(fmt::format("process {}:", pid));
    }
    statuses.push_back(run(one));
    const bool is_the_end = interrupted_by().has_value() || statuses.back() == ExitStatus::Output;
    if (is_the_end) return statuses.back();
  }
  // A condition that holds for one process matters more than what failed with another.
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

}  // namespace heapattach
