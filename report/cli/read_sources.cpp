#include <algorithm>
#include <array>
#include <charconv>

#include "report/cli/raw_options.h"

namespace heapattach {

namespace {

// What of it only a process can be asked. What a core file can be asked too, file_kind.h refuses
// for others once it is known what the file is.
Result<void> refuse_for_files(const RawOptions& raw) {
  const std::array<std::pair<std::string_view, bool>, 7> given{{
      {"--check", raw.check},
      {"--call", !raw.call.empty()},
      {"--inject", raw.inject},
      {"--watch", !raw.watch.empty()},
      {"--snapshot", !raw.snapshot.empty()},
      {"--max-pause", !raw.max_pause.empty()},
      {"--no-rewind", raw.no_rewind},
  }};
  for (const auto& [option, is_given] : given) {
    if (is_given) return usage(fmt::format("{} is for processes: a file has what it has", option));
  }
  return {};
}

// A process by its number, or a file by its name.
Result<Source> read_one_source(const std::string& text, bool may_be_file) {
  Source source;
  const bool is_number = std::all_of(text.begin(), text.end(),
                                     [](char letter) { return letter >= '0' && letter <= '9'; });
  if (!is_number && may_be_file) {
    source.file = text;
    return source;
  }
  const auto read = std::from_chars(text.data(), text.data() + text.size(), source.pid);
  if (!is_number || read.ec != std::errc{} || source.pid <= 0) {
    return usage(fmt::format("{} is no process id", text));
  }
  return source;
}

Result<void> read_compared(const RawOptions& raw, Options& options) {
  if (!raw.pid.empty()) return usage("--pid: --diff takes its sources in their order");
  if (raw.sources.size() < 2 || raw.sources.size() > 3) {
    return usage(
        fmt::format("--diff compares two or three sources, not {}: heapattach --diff "
                    "BEFORE AFTER [LAST]",
                    raw.sources.size()));
  }
  bool has_process = false;
  for (const std::string& text : raw.sources) {
    options.compared.push_back(HA_TRY(read_one_source(text, true)));
    has_process |= options.compared.back().pid != 0;
  }
  return has_process ? Result<void>() : refuse_for_files(raw);
}

Result<void> refuse_two_ways(const RawOptions& raw) {
  const int ways = int{!raw.trees.empty()} + int{!raw.name.empty()} +
                   int{!raw.sources.empty() || !raw.pid.empty()};
  if (ways <= 1) return {};
  return usage("PID, --tree and --name: one way to choose processes at a time");
}

// Of several processes, what cannot be told apart or makes no sense.
Result<void> refuse_for_several(const RawOptions& raw, Report report) {
  constexpr std::array kForOne{Report::Call, Report::Inject, Report::Watch,
                               Report::Why,  Report::Graph,  Report::ObjectSizes};
  if (std::find(kForOne.begin(), kForOne.end(), report) != kForOne.end()) {
    return usage("what was asked for is of one process, and several were named");
  }
  const bool has_own_file = raw.output.find("%p") != std::string::npos;
  if (has_own_file || (report != Report::Snapshot && raw.output.empty())) return {};
  return usage("of several processes: a file for each needs its pid in the name, -o NAME.%p");
}

}  // namespace

Result<void> read_source(const RawOptions& raw, Options& options) {
  HA_TRY(refuse_two_ways(raw));
  if (raw.diff) return read_compared(raw, options);
  std::vector<std::string> sources = raw.sources;
  if (!raw.pid.empty()) sources.push_back(raw.pid);
  // `--sizes 0x7f12a0 4711`; a file of such a name is ./0x7f12a0.
  if (raw.sizes && !sources.empty() && sources.front().starts_with("0x")) {
    options.report = Report::ObjectSizes;
    options.explain.what = sources.front();
    sources.erase(sources.begin());
  }
  sources.insert(sources.end(), raw.trees.begin(), raw.trees.end());
  if (sources.empty() && raw.name.empty()) {
    return usage("no process and no file given: heapattach [--count] SOURCE");
  }
  const bool may_be_file = sources.size() == 1 && raw.pid.empty() && raw.trees.empty();
  for (const std::string& text : sources) {
    Source source = HA_TRY(read_one_source(text, may_be_file));
    options.file = std::move(source.file);
    if (options.file.empty()) options.pids.push_back(source.pid);
  }
  if (!options.file.empty()) return refuse_for_files(raw);
  if (!options.pids.empty()) options.pid = options.pids.front();
  options.tree = !raw.trees.empty();
  options.name = raw.name;
  const bool may_be_several = options.pids.size() != 1 || options.tree;
  return may_be_several ? refuse_for_several(raw, options.report) : Result<void>();
}

}  // namespace heapattach
