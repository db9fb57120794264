#include <algorithm>
#include <charconv>

#include "report/cli/draft.h"
#include "report/cli/option_table.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

// Refuses options for live processes. Those that also apply to core files are refused in
// file_kind.h, once the kind of the file is known.
Result<void> refuse_for_files(const Options& options) {
  if (row_of(options.report).needs == Needs::Process) {
    return usage(fmt::format("{} needs a live process", shown_name(row_of(options.report))));
  }
  for (const OptionRow* row : options.given) {
    if (row->needs != Needs::Process) continue;
    return usage(fmt::format("--{} needs a live process", row->name));
  }
  return {};
}

Error no_process_id(std::string_view word) {
  if (word.empty()) return usage("empty argument: is the service running?");
  if (find_report(word) == nullptr) {
    return usage(fmt::format("{} is not a process id{}", word, did_you_mean(word, subcommands())));
  }
  return usage(fmt::format("{} is not a process id: the report comes first", word))
      .advise(fmt::format("heapattach {} SOURCE", word));
}

// A process by its number, or a file by its name.
Result<Source> read_one_source(const std::string& text, bool may_be_file) {
  Source source;
  const bool is_number = std::all_of(text.begin(), text.end(),
                                     [](char letter) { return letter >= '0' && letter <= '9'; });
  if (!is_number && may_be_file) {
    source.file = text == "-" ? "/dev/stdin" : text;
    return source;
  }
  const auto read = std::from_chars(text.data(), text.data() + text.size(), source.pid);
  if (!is_number || read.ec != std::errc{} || source.pid <= 0) {
    return no_process_id(text);
  }
  return source;
}

Result<void> read_all_sources(Draft& draft) {
  bool has_process = false;
  for (const std::string& text : draft.sources) {
    draft.options.compared.push_back(HA_TRY(read_one_source(text, true)));
    has_process |= draft.options.compared.back().pid != 0;
  }
  return has_process ? Result<void>() : refuse_for_files(draft.options);
}

Result<void> read_compared(Draft& draft) {
  if (!draft.pids.empty()) return usage("--pid: --diff takes its sources as arguments, in order");
  if (draft.sources.size() < 2 || draft.sources.size() > 3) {
    return usage(fmt::format("--diff compares two or three sources, not {}", draft.sources.size()))
        .advise("heapattach diff BEFORE AFTER [LAST]");
  }
  return read_all_sources(draft);
}

Result<void> read_merged(Draft& draft) {
  if (!draft.pids.empty()) return usage("--pid: --merge takes its sources as arguments");
  if (draft.sources.empty()) {
    return usage("--merge needs snapshots").advise("heapattach merge *.jsonl.gz");
  }
  return read_all_sources(draft);
}

Result<void> refuse_two_ways(const Draft& draft) {
  const int ways = int{!draft.trees.empty()} + int{!draft.options.name.empty()} +
                   int{!draft.sources.empty() || !draft.pids.empty()};
  if (ways <= 1) return {};
  return usage("choose processes by PID, --tree or --name, only one of these at a time");
}

// Refuses options that are ambiguous or make no sense for several processes.
Result<void> refuse_for_several(const Options& options) {
  const ReportRow& row = row_of(options.report);
  if (row.is_of_one_process && options.when.conditions.empty()) {
    return usage(fmt::format("{} takes one process, and several were given", shown_name(row)));
  }
  const bool has_files = !options.output.empty() || !options.when.conditions.empty();
  if (has_files || options.report != Report::Snapshot) return {};
  return usage("several processes need a file each")
      .advise("-o NAME.%p, which adds the pid, or -o NAME.html, which has them all");
}

// A program to start; a trace of it lasts to its end unless --for says otherwise.
Result<void> read_command(Draft& draft) {
  Options& options = draft.options;
  const bool has_other = !draft.sources.empty() || !draft.pids.empty() || !draft.trees.empty() ||
                         !options.name.empty();
  if (has_other) return usage("give only one of these: a process, a file, or a program after --");
  if (options.leaks.at_exit) {
    options.leaks.command = draft.command;
    return {};
  }
  const bool has_length =
      std::ranges::any_of(options.given, [](const OptionRow* row) { return row->name == "for"; });
  if (!has_length) options.trace.length = std::chrono::milliseconds(0);
  options.trace.command = draft.command;
  return {};
}

// A report that has no source looks at all processes; --name chooses some.
Result<void> refuse_sources(const Draft& draft) {
  const bool has_source = !draft.sources.empty() || !draft.pids.empty() || !draft.trees.empty() ||
                          !draft.command.empty();
  const std::string shown = shown_name(row_of(draft.options.report));
  if (has_source) return usage(fmt::format("{} takes no process and no file", shown));
  for (const OptionRow* const row : draft.options.given) {
    if (row->needs == Needs::AnySource && row->group != OptionGroup::Symbols) continue;
    return usage(fmt::format("--{} is not for {}", row->name, shown));
  }
  return {};
}

Error no_source(std::string_view report, const Options& options) {
  Error error = usage("no process and no file given");
  if (options.leaks.confirm) return std::move(error).advise("heapattach leaks --confirm 2s PID");
  if (report == "snapshot") {
    return std::move(error).advise(
        "heapattach [REPORT] SOURCE; `heapattach list` shows the processes");
  }
  const ReportRow& row = *find_report(report);
  return std::move(error).advise(fmt::format(
      "heapattach {}{}{} {}", row.name, row.argument.empty() ? "" : " ", row.argument, row.source));
}

// The sources in the order in which they are reported. `--sizes 0x7f12a0 4711` begins with an
// object; a file of such a name is ./0x7f12a0.
std::vector<std::string> all_sources(Draft& draft) {
  Options& options = draft.options;
  std::vector<std::string> sources = draft.sources;
  sources.insert(sources.end(), draft.pids.begin(), draft.pids.end());
  if (options.report == Report::Sizes && !sources.empty() && sources.front().starts_with("0x")) {
    options.report = Report::ObjectSizes;
    options.explain.what = sources.front();
    sources.erase(sources.begin());
  }
  sources.insert(sources.end(), draft.trees.begin(), draft.trees.end());
  return sources;
}

}  // namespace

Result<void> read_sources(Draft& draft, std::string_view report_name) {
  Options& options = draft.options;
  if (row_of(options.report).source.empty()) return refuse_sources(draft);
  if (!draft.command.empty()) return read_command(draft);
  if (options.leaks.at_exit) {
    return usage("--at-exit needs a program").advise("--at-exit -- COMMAND");
  }
  HA_TRY(refuse_two_ways(draft));
  if (options.report == Report::Diff) return read_compared(draft);
  if (options.report == Report::Merge) return read_merged(draft);
  const std::vector<std::string> sources = all_sources(draft);
  if (sources.empty() && options.name.empty()) return no_source(report_name, options);
  const bool may_be_file = sources.size() == 1 && draft.pids.empty() && draft.trees.empty();
  for (const std::string& text : sources) {
    Source source = HA_TRY(read_one_source(text, may_be_file));
    options.file = std::move(source.file);
    if (options.file.empty()) options.pids.push_back(source.pid);
  }
  if (!options.file.empty()) return refuse_for_files(options);
  if (!options.pids.empty()) options.pid = options.pids.front();
  options.tree = !draft.trees.empty();
  const bool may_be_several = options.pids.size() != 1 || options.tree;
  return may_be_several ? refuse_for_several(options) : Result<void>();
}

}  // namespace heapattach
