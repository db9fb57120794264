#include "report/cli/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "report/cli/help.h"
#include "report/snapshot/join_values.h"

namespace heapattach {

namespace {

// The arguments as CLI11 takes them apart, before they are made sense of.
struct RawOptions {
  std::vector<std::string> sources;
  std::string pid, name, output, format, sort, by, snapshot, colour, top, min_bytes, max_pause,
      timeout, watch, rounds;
  std::string call, returns, thread, routine, library_file, keep, redact;
  std::vector<std::string> types, fail_if, trees;
  std::vector<std::string> debug_dirs;
  std::string type_info, exe, sysroot;
  std::optional<std::string> values;    // empty: without a number
  std::optional<std::string> in_place;  // empty: without a manner
  RawExplainOptions explain;
  bool help = false, version = false, count = false, sizes = false, check = false, stacks = false,
       diff = false, strings = false, summary = false, force = false, gzip = false, all = false;
  bool inject = false, no_rewind = false, quiet = false, verbose = false;
};

void declare_options(CLI::App& app, RawOptions& raw) {
  app.set_help_flag();  // ours does not end the parsing by an exception
  app.add_option("SOURCE", raw.sources);
  app.add_option("-p,--pid", raw.pid);
  app.add_option("--tree", raw.trees)->allow_extra_args(false);
  app.add_option("--name", raw.name);
  app.add_option("-o,--output", raw.output);
  app.add_option("-f,--format", raw.format);
  app.add_option("--sort", raw.sort);
  app.add_option("--by", raw.by);
  app.add_option("--top", raw.top);
  // One value each: `--type A 4711` must leave the pid alone.
  app.add_option("--type", raw.types)->allow_extra_args(false);
  app.add_option("--fail-if", raw.fail_if)->allow_extra_args(false);
  app.add_option("--min-bytes", raw.min_bytes);
  app.add_option("--snapshot", raw.snapshot);
  app.add_option("--max-pause", raw.max_pause);
  app.add_option("--timeout", raw.timeout);
  app.add_option("--type-info", raw.type_info);
  app.add_option("--call", raw.call);
  app.add_option("--returns", raw.returns);
  app.add_option("--thread", raw.thread);
  app.add_option("--routine", raw.routine);
  app.add_option("--library", raw.library_file);
  app.add_option("--keep", raw.keep);
  app.add_flag("--inject", raw.inject);
  app.add_option("--redact", raw.redact);
  app.add_option("--exe", raw.exe);
  app.add_option("--debug-dir", raw.debug_dirs)->allow_extra_args(false);
  app.add_option("--sysroot", raw.sysroot);
  app.add_option("--why", raw.explain.why);
  app.add_option("--paths", raw.explain.paths);
  app.add_option("--exclude", raw.explain.excluded)->allow_extra_args(false);
  app.add_option("--graph", raw.explain.graph);
  app.add_option("--levels", raw.explain.levels);
  app.add_option("--objects", raw.explain.objects);
  app.add_flag("--suspects", raw.explain.suspects);
  app.add_option("--color,--colour", raw.colour);
  app.add_flag("-h,--help", raw.help);
  app.add_flag("--version", raw.version);
  app.add_flag("--count", raw.count);
  app.add_flag("--sizes", raw.sizes);
  app.add_flag("--check", raw.check);
  app.add_flag("--stacks", raw.stacks);
  app.add_flag("--diff", raw.diff);
  app.add_option("--watch", raw.watch);
  app.add_option("--rounds", raw.rounds);
  app.add_flag("--strings", raw.strings);
  app.add_flag("--summary", raw.summary);
  app.add_flag("--force", raw.force);
  app.add_flag("-z,--gzip", raw.gzip);
  app.add_flag("--all", raw.all);
  app.add_flag("--no-rewind", raw.no_rewind);
  app.add_flag("-q,--quiet", raw.quiet);
  app.add_flag("-v,--verbose", raw.verbose);
}

Error usage(std::string message) {
  return {ErrorKind::Malformed, std::move(message)};
}

// The value that `text` names in `table`, or an error that lists what there is.
template <class Value, std::size_t N>
Result<Value> choose(std::string_view option,
                     std::string_view text,
                     const std::array<std::pair<std::string_view, Value>, N>& table) {
  std::string names;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return usage(fmt::format("{} {}: not one of {}", option, text, names));
}

constexpr std::array<std::pair<std::string_view, Format>, 6> kCountFormats{{
    {"table", Format::Table},
    {"tsv", Format::Tsv},
    {"csv", Format::Csv},
    {"json", Format::Json},
    {"markdown", Format::Markdown},
    {"memprof", Format::Memprof},
}};
constexpr std::array<std::pair<std::string_view, Format>, 2> kPlainFormats{{
    {"table", Format::Table},
    {"json", Format::Json},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kStackFormats{{
    {"table", Format::Table},
    {"json", Format::Json},
    {"folded", Format::Folded},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kGraphFormats{{
    {"mermaid", Format::Mermaid},
    {"dot", Format::Dot},
    {"json", Format::Json},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kGrowthFormats{{
    {"table", Format::Table},
    {"json", Format::Json},
    {"html", Format::Html},
}};
constexpr std::array<std::pair<std::string_view, Format>, 9> kExtensions{{
    {"txt", Format::Table},
    {"tsv", Format::Tsv},
    {"csv", Format::Csv},
    {"json", Format::Json},
    {"md", Format::Markdown},
    {"markdown", Format::Markdown},
    {"memprof", Format::Memprof},
    {"jsonl", Format::JsonLines},
    {"ndjson", Format::JsonLines},
}};
constexpr std::array<std::pair<std::string_view, snapshot::SortBy>, 4> kSorts{{
    {"bytes", snapshot::SortBy::Bytes},
    {"count", snapshot::SortBy::Count},
    {"name", snapshot::SortBy::Name},
    {"retained", snapshot::SortBy::Retained},
}};
constexpr std::array<std::pair<std::string_view, snapshot::CountBy>, 2> kGroups{{
    {"type", snapshot::CountBy::Type},
    {"holder", snapshot::CountBy::Holder},
}};
constexpr std::array<std::pair<std::string_view, SnapshotMode>, 4> kModes{{
    {"read", SnapshotMode::Read},
    {"freeze", SnapshotMode::Freeze},
    {"clone", SnapshotMode::Clone},
    {"auto", SnapshotMode::Auto},
}};
constexpr std::array<std::pair<std::string_view, Returns>, 4> kReturns{{
    {"int", Returns::Int},
    {"long", Returns::Long},
    {"pointer", Returns::Pointer},
    {"string", Returns::String},
}};
constexpr std::array<std::pair<std::string_view, CallPlace>, 3> kPlaces{{
    {"", CallPlace::Held},
    {"hold", CallPlace::Held},
    {"run", CallPlace::Running},
}};
constexpr std::array<std::pair<std::string_view, ColourChoice>, 3> kColours{{
    {"auto", ColourChoice::Auto},
    {"always", ColourChoice::Always},
    {"never", ColourChoice::Never},
}};

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

// A process by its number, a file by its name, or how to find several processes.
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

// Whether the report counts by type, in any of the formats for counts.
bool is_counts(Report report) {
  return report == Report::Count || report == Report::Sizes;
}

// Whether the report has a row for each type.
bool has_rows(Report report) {
  return is_counts(report) || report == Report::Diff || report == Report::Watch;
}

bool ends_in_gz(std::string_view file) {
  return file.ends_with(".gz");
}

Result<Format> read_stack_format(const RawOptions& raw) {
  if (!raw.format.empty()) return choose("--format", raw.format, kStackFormats);
  std::string_view file = raw.output;
  if (ends_in_gz(file)) file.remove_suffix(3);
  if (file.ends_with(".json")) return Format::Json;
  return file.ends_with(".folded") ? Format::Folded : Format::Table;
}

Result<void> read_snapshot_format(const std::string& name, Options& options) {
  options.exporter = find_export_format(name);
  if (options.exporter != nullptr) options.format = Format::Export;
  if (options.exporter != nullptr || name == "jsonl") return {};
  std::string names = "jsonl";
  for (const ExportFormat& format : export_formats()) names += fmt::format(", {}", format.name);
  return usage(fmt::format("--format {}: not one of {}", name, names));
}

// The extension of the file that the output goes to, .gz aside.
std::string_view extension_of(std::string_view file) {
  if (ends_in_gz(file)) file.remove_suffix(3);
  const std::size_t dot = file.find_last_of("./");
  if (dot == std::string_view::npos || file[dot] == '/') return {};
  return file.substr(dot + 1);
}

Result<Format> read_graph_format(const RawOptions& raw) {
  if (!raw.format.empty()) return choose("--format", raw.format, kGraphFormats);
  const std::string_view extension = extension_of(raw.output);
  if (extension == "json") return Format::Json;
  return extension == "dot" || extension == "gv" ? Format::Dot : Format::Mermaid;
}

Result<void> read_format_of_file(const RawOptions& raw, Options& options) {
  const bool is_count = is_counts(options.report);
  const std::string_view extension = extension_of(raw.output);
  const auto no_format = [&] {
    return usage(fmt::format("-o {}: .{} is no format for {}; name one with -f", raw.output,
                             extension, is_count ? "counts" : "a snapshot"));
  };
  if (const ExportFormat* exporter = export_format_of_extension(extension)) {
    if (is_count) return no_format();
    options.exporter = exporter;
    options.format = Format::Export;
    return {};
  }
  const auto* const named = std::find_if(kExtensions.begin(), kExtensions.end(),
                                         [&](const auto& row) { return row.first == extension; });
  if (named == kExtensions.end()) return {};
  // JSON Lines in a file called .json is what many a reader of them expects.
  if (!is_count && named->second == Format::Json) return {};
  if (is_count == (named->second == Format::JsonLines)) return no_format();
  options.format = named->second;
  return {};
}

Result<Format> read_growth_format(const RawOptions& raw) {
  if (!raw.format.empty()) return choose("--format", raw.format, kGrowthFormats);
  const std::string_view extension = extension_of(raw.output);
  if (extension == "html") return Format::Html;
  return extension == "json" ? Format::Json : Format::Table;
}

// Of a report that is neither a snapshot nor counts.
Result<Format> read_report_format(const RawOptions& raw, Report report) {
  if (report == Report::Stacks) return read_stack_format(raw);
  if (report == Report::Graph) return read_graph_format(raw);
  if (report == Report::Diff) return read_growth_format(raw);
  if (!raw.format.empty()) return choose("--format", raw.format, kPlainFormats);
  return extension_of(raw.output) == "json" ? Format::Json : Format::Table;
}

Result<void> read_format(const RawOptions& raw, Options& options) {
  const bool is_raw = options.report == Report::Call || !raw.keep.empty();
  const bool is_snapshot = options.report == Report::Snapshot || options.report == Report::Inject;
  if (is_raw) {
    options.format = Format::Table;
    if (raw.format.empty()) return {};
    return usage("--format: what a function writes is passed on as it is");
  }
  if (!is_snapshot && !is_counts(options.report)) {
    options.format = HA_TRY(read_report_format(raw, options.report));
    return {};
  }
  options.format = is_snapshot ? Format::JsonLines : Format::Table;
  if (raw.format.empty()) return read_format_of_file(raw, options);
  if (!is_counts(options.report)) return read_snapshot_format(raw.format, options);
  options.format = HA_TRY(choose("--format", raw.format, kCountFormats));
  return {};
}

// A number of `unit`s, with a fraction if one was given, as milliseconds.
Result<std::chrono::milliseconds> read_time(std::string_view option,
                                            const std::string& text,
                                            double unit_ms) {
  constexpr double kMostMs = 1e12;  // thirty years: sums with it cannot overflow
  double value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = failure == std::errc{} && rest == text.data() + text.size();
  if (!is_number || !(value > 0) || value * unit_ms > kMostMs) {
    return usage(fmt::format("{} {}: not a time above 0", option, text));
  }
  return std::chrono::milliseconds(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(value * unit_ms)));
}

Result<void> refuse_rows(const RawOptions& raw, Report report) {
  if (has_rows(report)) return {};
  if (report == Report::Strings) {
    if (raw.sort.empty() && raw.types.empty()) return {};
    return usage("--sort and --type: strings are sorted by what they waste; --top chooses");
  }
  if (raw.sort.empty() && raw.top.empty() && raw.types.empty() && raw.min_bytes.empty()) return {};
  return usage("--sort, --top, --type and --min-bytes choose rows of --count, --sizes and --diff");
}

Result<snapshot::RowChoice> read_rows(const RawOptions& raw, Report report) {
  HA_TRY(refuse_rows(raw, report));
  snapshot::RowChoice rows;
  if (report == Report::Sizes) rows.sort = snapshot::SortBy::Retained;
  if (!raw.sort.empty()) rows.sort = HA_TRY(choose("--sort", raw.sort, kSorts));
  if (report != Report::Sizes && rows.sort == snapshot::SortBy::Retained) {
    return usage("--sort retained: only --sizes has it");
  }
  rows.types = raw.types;
  if (!raw.top.empty()) {
    auto top = parse_size(raw.top);
    if (!top || *top == 0) return usage(fmt::format("--top {}: not a number above 0", raw.top));
    rows.top = *top;
  }
  if (!raw.min_bytes.empty()) {
    auto bytes = parse_size(raw.min_bytes);
    if (!bytes) return usage(fmt::format("--min-bytes: {}", bytes.error().message));
    rows.min_bytes = *bytes;
  }
  return rows;
}

Result<void> refuse_calls_that_cannot_be(const RawOptions& raw) {
  if (raw.call.empty() && !raw.returns.empty()) return usage("--returns is for --call");
  if (raw.call.empty() && raw.in_place) {
    return usage("--in-place is for --call: a dump routine runs in a copy");
  }
  if (raw.call.empty() && !raw.inject && !raw.thread.empty()) {
    return usage("--thread is for --call and --inject");
  }
  if (!raw.inject && !(raw.routine.empty() && raw.library_file.empty() && raw.keep.empty())) {
    return usage("--routine, --library and --keep are for --inject");
  }
  if (!raw.keep.empty() && !raw.output.empty()) {
    return usage("--keep FILE is all that --inject writes then: no -o");
  }
  if (raw.inject && raw.keep.empty() && raw.values) {
    return usage("--values: a snapshot by --inject has none; with --keep FILE the dump has all");
  }
  return {};
}

// What of it contradicts itself or is not in this build.
Result<void> refuse_what_cannot_be(const RawOptions& raw) {
  const std::array<std::pair<std::string_view, bool>, 13> reports{{
      {"--count", raw.count},
      {"--sizes", raw.sizes},
      {"--check", raw.check},
      {"--stacks", raw.stacks},
      {"--call", !raw.call.empty()},
      {"--inject", raw.inject},
      {"--diff", raw.diff},
      {"--watch", !raw.watch.empty()},
      {"--strings", raw.strings},
      {"--why", !raw.explain.why.empty()},
      {"--graph", !raw.explain.graph.empty()},
      {"--suspects", raw.explain.suspects},
      {"--summary", raw.summary},
  }};
  std::string_view first;
  for (const auto& [option, is_given] : reports) {
    if (is_given && !first.empty()) {
      return usage(fmt::format("{} and {}: one report at a time", first, option));
    }
    if (is_given) first = option;
  }
  if (raw.watch.empty() && !raw.rounds.empty()) return usage("--rounds is for --watch");
  if (raw.stacks && !raw.snapshot.empty()) {
    return usage("--snapshot: --stacks always stops the process, for some milliseconds");
  }
  if (raw.quiet && raw.verbose) return usage("-q and -v contradict each other");
  return {};
}

// Options whose value is never in the next argument, which may be the process: `--values 4711`.
std::vector<std::string> without_optional_values(std::span<const char* const> arguments,
                                                 RawOptions& raw) {
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 2> options{
      {{"--values", &raw.values}, {"--in-place", &raw.in_place}}};
  std::vector<std::string> others;
  for (const std::string_view argument : arguments) {
    const std::string_view name = argument.substr(0, argument.find('='));
    const auto* const option = std::find_if(options.begin(), options.end(),
                                            [&](const auto& row) { return row.first == name; });
    if (option != options.end()) {
      *option->second = argument.substr(std::min(argument.size(), name.size() + 1));
    } else {
      others.emplace_back(argument);
    }
  }
  return others;
}

Result<std::size_t> read_values(const RawOptions& raw, Report report) {
  constexpr std::size_t kDefault = 64;
  if (!raw.values) return 0;
  if (report != Report::Snapshot && report != Report::Strings && report != Report::Inject) {
    return usage("--values is for snapshots, --strings and --inject: counts have none");
  }
  if (raw.values->empty()) return kDefault;
  const auto bytes = parse_size(*raw.values);
  if (!bytes || *bytes == 0 || *bytes > snapshot::kMostValueBytes) {
    return usage(fmt::format("--values={}: not a number from 1 to {}", *raw.values,
                             snapshot::kMostValueBytes));
  }
  return static_cast<std::size_t>(*bytes);
}

Result<snapshot::CountBy> read_by(const RawOptions& raw, Report report) {
  if (raw.by.empty()) return snapshot::CountBy::Type;
  if (!has_rows(report)) return usage("--by groups the rows of --count, --sizes and --diff");
  return choose("--by", raw.by, kGroups);
}

Result<void> read_fail_if(const RawOptions& raw, Options& options) {
  if (!raw.fail_if.empty() && options.report != Report::Snapshot && !has_rows(options.report)) {
    return usage("--fail-if is for --count, --sizes, --diff and --watch: others count no types");
  }
  for (const std::string& text : raw.fail_if) {
    FailIf condition = HA_TRY(parse_fail_if(text));
    const bool is_of_two = options.report == Report::Diff || options.report == Report::Watch;
    if (condition.is_of_growth() && !is_of_two) {
      return usage(fmt::format("--fail-if '{}': only --diff and --watch know what grew", text));
    }
    if (condition.what == FailIf::What::Retained && is_of_two) {
      return usage(
          fmt::format("--fail-if '{}': nothing retained is looked for; use --sizes", text));
    }
    options.fail_if.push_back(std::move(condition));
  }
  return {};
}

// A time such as 10, 0.5, 500ms, 10s, 5m or 1h.
Result<std::chrono::milliseconds> read_interval(std::string_view option, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
  for (const auto& [unit, milliseconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    return read_time(option, text.substr(0, text.size() - unit.size()), milliseconds);
  }
  return read_time(option, text, 1000);
}

Result<void> read_watch(const RawOptions& raw, Options& options) {
  constexpr std::uint64_t kMostRounds = 1'000'000;
  if (raw.watch.empty()) return {};
  options.interval = HA_TRY(read_interval("--watch", raw.watch));
  if (raw.rounds.empty()) return {};
  const auto rounds = parse_size(raw.rounds);
  if (!rounds || *rounds == 0 || *rounds > kMostRounds) {
    return usage(fmt::format("--rounds {}: not a number above 0", raw.rounds));
  }
  options.rounds = static_cast<unsigned>(*rounds);
  return {};
}

Result<void> read_manner(const RawOptions& raw, Options& options) {
  if (!raw.max_pause.empty()) {
    options.max_pause = HA_TRY(read_time("--max-pause", raw.max_pause, 1));
  }
  if (!raw.timeout.empty()) options.timeout = HA_TRY(read_time("--timeout", raw.timeout, 1000));
  if (!raw.snapshot.empty()) options.mode = HA_TRY(choose("--snapshot", raw.snapshot, kModes));
  if (!raw.colour.empty()) options.colour = HA_TRY(choose("--color", raw.colour, kColours));
  return {};
}

Result<void> read_call(const RawOptions& raw, Options& options) {
  options.routine = raw.routine;
  options.library_file = raw.library_file;
  options.keep = raw.keep;
  if (!raw.call.empty()) options.call = HA_TRY(parse_call(raw.call));
  if (!raw.returns.empty()) options.returns = HA_TRY(choose("--returns", raw.returns, kReturns));
  if (raw.in_place) options.place = HA_TRY(choose("--in-place", *raw.in_place, kPlaces));
  if (raw.thread.empty()) return {};
  const auto thread = parse_size(raw.thread);
  if (!thread || *thread == 0 || *thread > INT32_MAX) {
    return usage(fmt::format("--thread {}: not the number of a thread", raw.thread));
  }
  options.call_thread = static_cast<pid_t>(*thread);
  return {};
}

Report report_of(const RawOptions& raw) {
  if (!raw.call.empty()) return Report::Call;
  if (raw.inject) return Report::Inject;
  if (raw.check) return Report::Check;
  if (raw.stacks) return Report::Stacks;
  if (!raw.explain.why.empty()) return Report::Why;
  if (!raw.explain.graph.empty()) return Report::Graph;
  if (raw.explain.suspects) return Report::Suspects;
  if (raw.sizes) return Report::Sizes;
  if (raw.diff) return Report::Diff;
  if (raw.strings) return Report::Strings;
  if (raw.summary) return Report::Summary;
  if (!raw.watch.empty()) return Report::Watch;
  return raw.count ? Report::Count : Report::Snapshot;
}

// Of which outputs names cannot be taken: they are what a function wrote, or bytes as they are.
Result<void> read_redaction(const RawOptions& raw, Options& options) {
  if (raw.redact.empty()) return {};
  if (raw.redact != "full") {
    return usage(fmt::format("--redact {}: only full (values are never told unless --values asks)",
                             raw.redact));
  }
  const bool is_of_bytes = options.exporter != nullptr && needs_contents(*options.exporter);
  const std::array<std::pair<std::string_view, bool>, 7> given{{
      {"--values", raw.values.has_value()},
      {"--strings", raw.strings},
      {"--stacks", raw.stacks},
      {"--check", raw.check},
      {"--call", !raw.call.empty()},
      {"--keep", !raw.keep.empty()},
      {"a dump of bytes", is_of_bytes},
  }};
  for (const auto& [what, is_given] : given) {
    if (is_given) return usage(fmt::format("--redact full: {} tells what it should hide", what));
  }
  options.redact = true;
  return {};
}

// A file has the values that it has; of a process nothing is told that was not asked for.
Result<void> refuse_without_values(const Options& options) {
  const bool is_all = options.exporter != nullptr && options.exporter->name == "gcfull";
  const bool is_told = options.value_bytes > 0 || !options.file.empty();
  if (is_all && options.report == Report::Inject) {
    return usage("-f gcfull: the dump itself is that; --inject --values --keep FILE");
  }
  if (!is_all || is_told) return {};
  return usage("-f gcfull writes all bytes of the heap, secrets with them: it wants --values too");
}

Result<Options> make_sense(const RawOptions& raw) {
  HA_TRY(refuse_what_cannot_be(raw));
  HA_TRY(refuse_calls_that_cannot_be(raw));
  Options options;
  options.report = report_of(raw);
  HA_TRY(read_source(raw, options));
  HA_TRY(read_format(raw, options));
  options.rows = HA_TRY(read_rows(raw, options.report));
  options.value_bytes = HA_TRY(read_values(raw, options.report));
  HA_TRY(refuse_without_values(options));
  HA_TRY(read_redaction(raw, options));
  options.by = HA_TRY(read_by(raw, options.report));
  const std::string object = options.explain.what;
  options.explain = HA_TRY(read_explain_options(raw.explain));
  if (options.report == Report::ObjectSizes) options.explain.what = object;
  HA_TRY(read_fail_if(raw, options));
  HA_TRY(read_watch(raw, options));
  HA_TRY(read_call(raw, options));
  HA_TRY(read_manner(raw, options));
  options.output = raw.output;
  options.force = raw.force;
  options.with_gzip = raw.gzip || ends_in_gz(raw.output);
  options.all = raw.all;
  options.rewind = !raw.no_rewind;
  options.type_info = raw.type_info;
  options.exe = raw.exe;
  options.debug_dirs = raw.debug_dirs;
  options.sysroot = raw.sysroot;
  options.quiet = raw.quiet;
  options.verbose = raw.verbose;
  return options;
}

ShowText help_text(std::span<const char* const> arguments) {
  const auto is_all = [](std::string_view argument) { return argument == "all"; };
  const bool wants_all = std::any_of(arguments.begin(), arguments.end(), is_all);
  return {std::string(wants_all ? kHelpText : kShortHelpText)};
}

}  // namespace

bool needs_edges(const Options& options) {
  const bool counts_alone = options.report == Report::Count || options.report == Report::Diff ||
                            options.report == Report::Watch || options.report == Report::Strings ||
                            options.report == Report::Summary;
  if (!counts_alone || options.format == Format::Html) return true;
  return std::any_of(options.fail_if.begin(), options.fail_if.end(), [](const FailIf& condition) {
    return condition.what == FailIf::What::Retained;
  });
}

bool needs_contents(const Options& options) {
  return options.exporter != nullptr && needs_contents(*options.exporter);
}

std::string_view version_text() {
  return "heapattach " HEAPATTACH_VERSION;
}

ParsedOptions parse_options(std::span<const char* const> arguments) {
  CLI::App app;
  RawOptions raw;
  declare_options(app, raw);
  try {
    std::vector<std::string> others = without_optional_values(arguments, raw);
    std::reverse(others.begin(), others.end());  // CLI11 takes the arguments from the back
    app.parse(std::move(others));
  } catch (const CLI::ParseError& error) {
    if (raw.help) return help_text(arguments);
    return UsageError{error.what()};
  }
  if (raw.help) return help_text(arguments);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) return UsageError{fmt::format("{}: empty value", option->get_name())};
    }
  }
  if (raw.version) return ShowText{fmt::format("{}\n", version_text())};
  auto options = make_sense(raw);
  if (!options) return UsageError{options.error().message};
  return std::move(options).value();
}

}  // namespace heapattach
