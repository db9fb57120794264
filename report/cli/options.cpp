#include "report/cli/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/cli/raw_options.h"
#include "report/collect/join_values.h"

namespace heapattach {

namespace {

// Whether the report has a row for each type.
bool has_rows(Report report) {
  return is_counts(report) || report == Report::Diff || report == Report::Watch;
}

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
constexpr std::array<std::pair<std::string_view, ColourChoice>, 3> kColours{{
    {"auto", ColourChoice::Auto},
    {"always", ColourChoice::Always},
    {"never", ColourChoice::Never},
}};

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
  const bool has_retained =
      report == Report::Sizes || report == Report::Diff || report == Report::Watch;
  if (has_retained) rows.sort = snapshot::SortBy::Retained;
  if (!raw.sort.empty()) rows.sort = HA_TRY(choose("--sort", raw.sort, kSorts));
  if (!has_retained && rows.sort == snapshot::SortBy::Retained) {
    return usage("--sort retained: only --sizes, --diff and --watch have it");
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
  if (!raw.allow_calls.empty() && ((raw.call.empty() && !raw.inject) || raw.in_place)) {
    return usage("--allow-calls is for what runs in a copy: --call without --in-place, --inject");
  }
  if (!raw.inject && !(raw.routine.empty() && raw.routine_library.empty() && raw.keep.empty())) {
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
  if (raw.allow_missing && raw.fail_if.empty()) return usage("--allow-missing is for --fail-if");
  options.allow_missing = raw.allow_missing;
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

}  // namespace

Error usage(std::string message) {
  return {ErrorKind::Usage, std::move(message)};
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

bool needs_edges(const Options& options) {
  const bool counts_alone = options.report == Report::Count || options.report == Report::Strings ||
                            options.report == Report::Summary;
  if (!counts_alone) return true;
  return std::any_of(options.fail_if.begin(), options.fail_if.end(), [](const FailIf& condition) {
    return condition.what == FailIf::What::Retained;
  });
}

bool needs_contents(const Options& options) {
  return options.exporter != nullptr && needs_contents(*options.exporter);
}

}  // namespace heapattach
