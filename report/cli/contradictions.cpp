// Checks for contradictions that the tables of options and reports cannot express.

#include <algorithm>
#include <array>
#include <utility>

#include "report/cli/draft.h"
#include "report/cli/report_table.h"

namespace heapattach {

namespace {

bool is_growth(Report report) {
  return report == Report::Diff || report == Report::Watch;
}

// Refuses the words that are conditions of the report `its` for other reports, and other conditions
// for that one. `known` are these words, for the message.
Result<void> refuse_words(
    const FailIf& condition, bool is_of_its, Report its, Report report, std::string_view known) {
  if (is_of_its == (report == its)) return {};
  const std::string_view name = row_of(its).name;
  if (is_of_its) return usage(fmt::format("--fail-if {} is for --{}", condition.text, name));
  return usage(
      fmt::format("--fail-if '{}': the condition for --{} is {}", condition.text, name, known));
}

Result<void> refuse_conditions(const Options& options) {
  if (options.allow_missing && options.fail_if.empty()) {
    return usage("--allow-missing needs --fail-if");
  }
  for (const FailIf& condition : options.fail_if) {
    const bool is_of_diagnosis =
        condition.what == FailIf::What::Found || condition.what == FailIf::What::Stuck;
    const bool is_of_stacks = condition.what == FailIf::What::Deadlock;
    HA_TRY(refuse_words(condition, is_of_diagnosis, Report::Diagnose, options.report,
                        "found or stuck"));
    HA_TRY(refuse_words(condition, is_of_stacks, Report::Stacks, options.report, "deadlock"));
    if (condition.is_of_growth() && !is_growth(options.report)) {
      return usage(
          fmt::format("--fail-if '{}': only --diff and --watch measure growth", condition.text));
    }
    if (condition.is_of_leaks() != (options.report == Report::Leaks)) {
      return usage(condition.is_of_leaks()
                       ? fmt::format("--fail-if '{}': only --leaks measures leaks", condition.text)
                       : fmt::format("--fail-if '{}': --leaks measures only leaked(TYPE) and "
                                     "leaked_bytes(TYPE)",
                                     condition.text));
    }
    if (condition.what == FailIf::What::Retained && is_growth(options.report)) {
      return usage(fmt::format("--fail-if '{}': {} does not compute what is retained; use --sizes",
                               condition.text, shown_name(row_of(options.report))));
    }
  }
  return {};
}

// Who makes tables meanwhile does not read the ring fast enough for all.
Result<void> refuse_live(const Options& options) {
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 10;
  if (!options.trace.live) return {};
  if (options.quiet) return usage("-q and --live contradict each other");
  if (options.trace.every < kLeast) return usage("--live needs --every 64k or more");
  return {};
}

Result<void> refuse_when(const Options& options) {
  const bool waits = !options.when.conditions.empty();
  if (waits && options.output.empty()) {
    return usage("--when needs a directory for its captures").advise("-o DIR");
  }
  if (waits && !options.fail_if.empty()) return usage("--fail-if and --when contradict each other");
  if (waits) return {};
  for (const OptionRow* row : options.given) {
    const bool is_of_when = row->name == "cooldown" || row->name == "hook" ||
                            row->name == "max-bytes" || row->name == "keep";
    if (is_of_when && options.report == Report::Watch) {
      return usage(fmt::format("--{} needs --when", row->name));
    }
  }
  return {};
}

// The program is held where it exits, and does not come back from there.
Result<void> refuse_at_exit(const Options& options) {
  if (!options.leaks.at_exit) return {};
  if (options.leaks.confirm) {
    return usage("--confirm does not work with --at-exit: the program has ended by then");
  }
  if (options.hold == snapshot::Hold::Freeze) return {};
  return usage("--snapshot does not work with --at-exit: the program has ended by then");
}

// The code behind a heap is only known if a process was traced before.
Result<void> refuse_with_trace(const Options& options) {
  if (options.report != Report::Leaks && options.report != Report::Suspects) return {};
  const bool has_every = std::any_of(options.given.begin(), options.given.end(),
                                     [](const OptionRow* row) { return row->name == "every"; });
  if (!options.with_trace.length) {
    if (has_every) return usage("--every needs --trace TIME");
    if (options.format->leaks || options.format->suspects) return {};
    return usage(
        fmt::format("-f {} shows the code of leaks; it needs --trace TIME", options.format->name));
  }
  if (options.leaks.at_exit) return usage("--trace does not work with --at-exit");
  if (options.leaks.confirm) {
    return usage("--confirm does not work with --trace: the heap is read once, at its end");
  }
  if (options.redact) return usage("--redact full: --trace would show what redaction must hide");
  return {};
}

Result<void> refuse_calls(const Draft& draft) {
  const Options& options = draft.options;
  if (!options.allowed_calls.empty() && options.place != CallPlace::Clone) {
    return usage("--allow-calls applies only to a copy, not to --in-place");
  }
  if (!options.keep.empty() && !options.output.empty()) {
    return usage("--inject --keep FILE writes only that file; omit -o");
  }
  if (options.report == Report::Inject && options.keep.empty() && options.value_bytes > 0) {
    return usage(
        "--values: a snapshot from --inject has no values; with --keep FILE, the dump has all of "
        "them");
  }
  return {};
}

// Refuses outputs in which names cannot be replaced: a function's output, or raw bytes.
Result<void> refuse_redaction(const Options& options) {
  if (!options.redact) return {};
  const bool is_of_bytes = needs_contents(*options.format);
  const bool finds_values =
      options.report == Report::Find && options.file.empty() && options.explain.find.needs_values();
  const std::array<std::pair<std::string_view, bool>, 12> given{{
      {"--values", options.value_bytes > 0},
      {"--find with a value", finds_values},
      {"--strings", options.report == Report::Strings},
      {"--stacks", options.report == Report::Stacks},
      {"--check", options.report == Report::Check},
      {"--list", options.report == Report::List},
      {"--diagnose", options.report == Report::Diagnose},
      {"--trace", options.report == Report::Trace},
      {"--call", options.report == Report::Call},
      {"--ruby", options.report == Report::Ruby},
      {"--keep", !options.keep.empty()},
      {"a dump of bytes", is_of_bytes},
  }};
  for (const auto& [what, is_given] : given) {
    if (is_given) {
      return usage(fmt::format("--redact full: {} would show what redaction must hide", what));
    }
  }
  return {};
}

// A file contains whatever values were saved; from a process, values are shown only on request.
Result<void> refuse_without_values(const Options& options) {
  const bool is_all = options.format->needs == ExportNeeds::Contents;
  if (is_all && options.report == Report::Inject) {
    return usage("-f gcfull: --inject --values --keep FILE already writes this format");
  }
  if (!is_all || options.value_bytes > 0 || !options.file.empty()) return {};
  return refuse_all_bytes();
}

}  // namespace

Result<void> refuse_contradictions(const Draft& draft) {
  const Options& options = draft.options;
  if (options.quiet && options.verbose) return usage("-q and -v contradict each other");
  const bool only_counts = options.report == Report::Count || options.report == Report::Merge;
  if (only_counts && options.rows.sort == snapshot::SortBy::Retained) {
    return usage("--sort retained works only with --sizes, --diff and --watch");
  }
  HA_TRY(refuse_live(options));
  HA_TRY(refuse_when(options));
  HA_TRY(refuse_at_exit(options));
  HA_TRY(refuse_with_trace(options));
  HA_TRY(refuse_conditions(options));
  HA_TRY(refuse_calls(draft));
  HA_TRY(refuse_without_values(options));
  return refuse_redaction(options);
}

namespace {

// A table of many snapshots has counts alone, a timeline of them has everything.
bool is_merged_table(const Options& options) {
  return options.report == Report::Merge && !options.format->is_series;
}

}  // namespace

bool needs_objects(const Options& options) {
  const bool counts = options.report == Report::Count || options.report == Report::Summary ||
                      is_merged_table(options);
  return !counts || needs_edges(options);
}

bool needs_edges(const Options& options) {
  const bool counts_alone = options.report == Report::Count || options.report == Report::Strings ||
                            options.report == Report::Summary || options.report == Report::Stacks ||
                            is_merged_table(options) ||
                            (options.report == Report::Trace && !options.format->trace_page);
  if (!counts_alone) return true;
  return std::any_of(options.fail_if.begin(), options.fail_if.end(), [](const FailIf& condition) {
    return condition.what == FailIf::What::Retained;
  });
}

bool needs_contents(const Options& options) {
  return needs_contents(*options.format);
}

}  // namespace heapattach
