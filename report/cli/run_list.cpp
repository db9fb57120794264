// --list: the processes that can be read, and what to type next. It is also what a person at a
// terminal gets without any arguments.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/cli/dumped_heaps.h"
#include "report/cli/find_processes.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/collect/look_at_process.h"
#include "report/format/export/formats.h"
#include "report/glob.h"

namespace heapattach {

namespace {

using snapshot::ProcessList;
using snapshot::ReadableProcess;

// For people, unless --top says otherwise.
constexpr std::size_t kShown = 25;
// The time limit for finding the runtimes and heaps of all processes together. Each takes some
// milliseconds, so the largest processes come first.
constexpr std::chrono::seconds kLongestLook{3};

Result<ProcessList> glance_at_all(const Options& options, const Deadline& deadline) {
  ProcessList list;
  for (const ListedProcess& one : list_processes()) {
    if (!options.name.empty() && !matches_glob(options.name, one.name)) continue;
    HA_TRY(deadline.check("listing processes"));
    auto process = snapshot::glance_at_process(one.pid);
    if (process) {
      process->name = one.name;
      if (process->title == one.name) process->title.clear();
      list.processes.push_back(std::move(*process));
    } else if (process.error().kind == ErrorKind::Denied ||
               process.error().kind == ErrorKind::Traced) {
      ++list.not_permitted;
    }
  }
  std::stable_sort(list.processes.begin(), list.processes.end(),
                   [](const ReadableProcess& a, const ReadableProcess& b) {
                     return a.resident_bytes > b.resident_bytes;
                   });
  return list;
}

void leave_out_some(const Options& options, ProcessList& list) {
  std::size_t shown = list.processes.size();
  if (options.format->read_by == ReadBy::People) shown = std::min(shown, kShown);
  if (options.rows.top) shown = std::min<std::size_t>(list.processes.size(), *options.rows.top);
  list.left_out = list.processes.size() - shown;
  list.processes.resize(shown);
}

std::string why_empty(const Options& options, const ProcessList& list) {
  if (list.not_permitted != 0) {
    return fmt::format("no process can be read; `heapattach check PID` says why not ({} tried)",
                       list.not_permitted);
  }
  if (options.name.empty()) return "there is no other process here";
  return fmt::format("no process has the name '{}'", options.name);
}

}  // namespace

Result<Answer> run_list(Job& job) {
  ProcessList list = HA_TRY(glance_at_all(job.options, job.deadline));
  leave_out_some(job.options, list);
  const Deadline look{std::min(job.deadline.at, std::chrono::steady_clock::now() + kLongestLook)};
  for (ReadableProcess& process : list.processes) {
    if (look.has_passed()) break;
    snapshot::look_at_process(dumped_heaps(), look, process);
  }
  Answer answer;
  answer.text = job.options.format->processes(list, style_of(job.options));
  if (list.processes.empty()) {
    answer.status = list.not_permitted == 0 ? ExitStatus::Gone : ExitStatus::Denied;
    answer.remarks.push_back(why_empty(job.options, list));
  } else if (list.not_permitted != 0) {
    answer.summary = [denied = list.not_permitted] {
      return fmt::format("{} more may not be read; `heapattach check PID` says why not", denied);
    };
  }
  return answer;
}

}  // namespace heapattach
