// --merge: one table of the types in many snapshots, or a timeline of them. Each snapshot is read,
// counted or written, and dropped before the next one is read.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/analyze/merge.h"
#include "report/cli/gate.h"
#include "report/cli/reports.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

std::string source_name(const Source& source) {
  return source.file.empty() ? fmt::format("process {}", source.pid) : source.file;
}

// Whether the other snapshots can still be read.
bool is_of_one_snapshot(const Error& error) {
  return error.kind != ErrorKind::Timeout && error.kind != ErrorKind::Interrupted &&
         error.kind != ErrorKind::Usage;
}

Result<snapshot::Snapshot> take(const Job& job, const Source& source) {
  Options one = job.options;
  one.pid = source.pid;
  one.file = source.file;
  return job.sources.snapshot(one, job.deadline, job.console);
}

Result<void> add_source(const Job& job, const Source& source, Gate& gate, analyze::Merge& merge) {
  const auto taken = HA_TRY(take(job, source));
  gate.add(taken);
  analyze::MergedSnapshot merged;
  merged.source = source_name(source);
  merged.pid = taken.header.pid;
  merged.exe = taken.header.exe;
  merged.resource = taken.header.resource;
  merged.host = taken.header.host;
  merged.captured = taken.header.captured;
  merge.add(std::move(merged), count_objects(taken, job.options.by));
  return {};
}

// Reads all snapshots, unless an error is not about one of them alone. If none could be read,
// returns the first error.
Result<void> add_all(Job& job, Gate& gate, analyze::Merge& merge) {
  std::optional<Error> first;
  std::size_t number = 0;
  for (const Source& source : job.options.compared) {
    job.console.progress("reading snapshots", number++, job.options.compared.size());
    auto added = add_source(job, source, gate, merge);
    if (added) continue;
    Error error = std::move(added).error();
    if (!is_of_one_snapshot(error)) {
      return std::move(error).context(
          fmt::format("snapshot {} of {}", number, job.options.compared.size()));
    }
    merge.add_unread(source_name(source), error.text());
    if (!first) first = std::move(error);
  }
  if (first && merge.read() == 0) return std::move(*first);
  return {};
}

// The processes in one file, whose format distinguishes them by their ids alone. In two containers
// or on two machines, different processes may have the same id.
class ProcessIds {
 public:
  Result<void> add(const Source& source, const snapshot::Header& header) {
    const auto [first, is_new] =
        first_.try_emplace(header.pid, Process{source_name(source), header});
    const snapshot::Header& known = first->second.header;
    if (is_new || !(differ(known.host, header.host) || differ(known.started, header.started))) {
      return {};
    }
    return Error{ErrorKind::Impossible,
                 fmt::format("{} and {} are of different processes with the id {}, which this "
                             "format would show as one process",
                             first->second.source, source_name(source), header.pid)}
        .advise("one file for each process");
  }

 private:
  struct Process {
    std::string source;
    snapshot::Header header;
  };

  static bool differ(const std::string& one, const std::string& other) {
    return !one.empty() && !other.empty() && one != other;
  }

  std::map<pid_t, Process> first_;  // by id
};

// Writes all snapshots into one file. Unlike a table, the file cannot show that a snapshot could
// not be read, so that is an error.
Result<bool> write_series(const Job& job, Sink& sink) {
  ExportOptions how;
  how.with_gzip = job.options.with_gzip;
  how.deadline = job.deadline;
  ProcessIds ids;
  for (const Source& source : job.options.compared) {
    const auto taken = HA_TRY(take(job, source));
    if (!taken.complete) {
      return Error{ErrorKind::Impossible,
                   fmt::format("{} is partial ({}), which this format cannot mark",
                               source_name(source), taken.reason)}
          .advise("leave it out");
    }
    HA_TRY(ids.add(source, taken.header));
    HA_TRY(job.options.format->snapshot(taken, sink, how));
    how.is_later = true;
  }
  return true;
}

}  // namespace

Result<Answer> run_merge(Job& job) {
  if (job.options.format->is_series) {
    Answer answer;
    answer.write = [&job](Sink& sink) { return write_series(job, sink); };
    return answer;
  }
  Gate gate(job.options, job.console);
  analyze::Merge merge;
  HA_TRY(add_all(job, gate, merge));
  const auto read = merge.read();
  const analyze::MergedTable table = std::move(merge).finish(gate.rows());
  Answer answer;
  answer.text = job.options.format->merged(table, style_of(job.options));
  if (!table.is_complete()) answer.status = ExitStatus::Partial;
  gate.judge([](const FailIf&) { return std::int64_t{0}; }, answer);
  answer.summary = [read, all = table.snapshots.size()] {
    return fmt::format("{} of {} snapshots read", read, all);
  };
  return answer;
}

}  // namespace heapattach
