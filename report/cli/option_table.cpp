#include "report/cli/option_table.h"

#include <algorithm>
#include <array>

#include "report/cli/read_values.h"

namespace heapattach {

namespace {

constexpr Reports kGrouped{Report::Count, Report::Sizes, Report::Diff,
                           Report::Watch, Report::Trace, Report::Merge};
constexpr Reports kTables{Report::Count,   Report::Sizes, Report::Diff, Report::Watch,
                          Report::Strings, Report::Trace, Report::Merge};
constexpr Reports kGates{Report::Snapshot, Report::Count, Report::Sizes,   Report::Diff,
                         Report::Watch,    Report::Leaks, Report::Diagnose};
constexpr Reports kConditions{Report::Snapshot, Report::Count, Report::Sizes,    Report::Diff,
                              Report::Watch,    Report::Leaks, Report::Diagnose, Report::Stacks};
constexpr Reports kOfHeaps = Reports::all().without(
    {Report::Stacks, Report::Check, Report::Call, Report::Ruby, Report::Trace, Report::List});
constexpr Reports kWithOutput = Reports::all().without({Report::Serve});
constexpr Reports kCopies{Report::Call, Report::Ruby, Report::Inject};

using Group = OptionGroup;
using Explain = ExplainOptions;
using Leaks = LeakReportOptions;
using Rows = snapshot::RowChoice;
using Serve = ServeReportOptions;
using Trace = TraceReportOptions;
using Whens = WhenOptions;
using WithTrace = WithTraceOptions;

constexpr Choice<snapshot::SortBy> kSorts[] = {
    {"bytes", snapshot::SortBy::Bytes},
    {"count", snapshot::SortBy::Count},
    {"name", snapshot::SortBy::Name},
    {"retained", snapshot::SortBy::Retained},
};
constexpr Choice<snapshot::CountBy> kGroups[] = {
    {"type", snapshot::CountBy::Type},
    {"holder", snapshot::CountBy::Holder},
    {"line", snapshot::CountBy::Line},
};
constexpr Choice<trace::SortBy> kTraceSorts[] = {
    {"allocated", trace::SortBy::Allocated},
    {"in-use", trace::SortBy::InUse},
    {"count", trace::SortBy::Count},
    {"rate", trace::SortBy::Rate},
};
constexpr Choice<trace::GroupBy> kTraceGroups[] = {
    {"stack", trace::GroupBy::Stack},   {"function", trace::GroupBy::Function},
    {"line", trace::GroupBy::Line},     {"type", trace::GroupBy::Type},
    {"thread", trace::GroupBy::Thread}, {"fiber", trace::GroupBy::Fiber},
};
constexpr Choice<trace::Value> kTraceValues[] = {
    {"alloc_space", trace::Value::AllocSpace},
    {"alloc_objects", trace::Value::AllocObjects},
    {"inuse_space", trace::Value::InuseSpace},
    {"inuse_objects", trace::Value::InuseObjects},
};
constexpr Choice<trace::FrameText> kFrameTexts[] = {
    {"none", trace::FrameText::None},
    {"address", trace::FrameText::Address},
    {"name", trace::FrameText::Name},
    {"full", trace::FrameText::Full},
};
constexpr Choice<snapshot::Hold> kHolds[] = {
    {"read", snapshot::Hold::Nothing},
    {"freeze", snapshot::Hold::Freeze},
    {"clone", snapshot::Hold::Clone},
    {"auto", snapshot::Hold::Auto},
};
constexpr Choice<ColourChoice> kColours[] = {
    {"auto", ColourChoice::Auto},
    {"always", ColourChoice::Always},
    {"never", ColourChoice::Never},
};
constexpr Choice<Returns> kReturns[] = {
    {"int", Returns::Int},         {"long", Returns::Long},     {"none", Returns::None},
    {"pointer", Returns::Pointer}, {"string", Returns::String},
};
constexpr Choice<CallPlace> kPlaces[] = {
    {"hold", CallPlace::Held},
    {"run", CallPlace::Running},
};
constexpr Choice<bool> kYesNo[] = {{"yes", true}, {"no", false}};

// --trace has other choices.
template <auto Read, auto ReadOfTrace>
Result<void> by_report(const std::string& value, Draft& draft) {
  return draft.options.report == Report::Trace ? ReadOfTrace(value, draft) : Read(value, draft);
}

// The file of --inject, or the number of --watch.
Result<void> read_keep(const std::string& value, Draft& draft) {
  return draft.options.report == Report::Watch
             ? set<read_rounds, &Options::when, &Whens::keep>(value, draft)
             : set<text, &Options::keep>(value, draft);
}

// --json is a short name of -f json.
Result<void> choose_format(const std::string& value, Draft& draft) {
  if (!draft.format.empty() && draft.format != value) {
    return usage(fmt::format("the format is already {}", draft.format));
  }
  draft.format = value;
  return {};
}

Result<void> choose_json(const std::string& /*value*/, Draft& draft) {
  return choose_format("json", draft);
}

Result<void> show_all_frames(const std::string& /*value*/, Draft& draft) {
  draft.options.trace.with_all_frames = true;
  draft.options.brief = false;
  return {};
}

const std::array kOptions{
    OptionRow{.name = "pid",
              .letter = 'p',
              .argument = "PID",
              .group = Group::Source,
              .help = "inspect this process; give several PIDs to get a report for each",
              .read = add_text<&Draft::pids>,
              .may_repeat = true,
              .offers = "@pid"},
    OptionRow{.name = "tree",
              .argument = "PID",
              .group = Group::Source,
              .help = "inspect this process and all its descendants",
              .read = add_text<&Draft::trees>,
              .may_repeat = true,
              .offers = "@pid"},
    OptionRow{.name = "name",
              .argument = "GLOB",
              .group = Group::Source,
              .help = "inspect all processes with this name, as shown by ps: 'web-*'",
              .read = set<text, &Options::name>,
              .offers = "@process"},
    OptionRow{.name = "at-exit",
              .group = Group::Source,
              .help =
                  "start COMMAND, given after --, and look for leaks when it is about to exit or "
                  "be killed by a signal; its children are not examined",
              .read = turn_on<&Options::leaks, &Leaks::at_exit>,
              .reports = Reports{Report::Leaks}},

    OptionRow{.name = "baseline",
              .argument = "FILE",
              .group = Group::Source,
              .help = "an earlier snapshot of the process: also find what has grown since",
              .read = set<text, &Options::baseline>,
              .reports = Reports{Report::Diagnose},
              .offers = "@file"},

    OptionRow{.name = "output",
              .letter = 'o',
              .argument = "FILE",
              .group = Group::Output,
              .help = "write to FILE (mode 0600); %p stands for the pid, %h for the host, %t for "
                      "the time; the extension selects the format; a .html or .csv without %p "
                      "contains the reports on all processes",
              .read = set<text, &Options::output>,
              .reports = kWithOutput,
              .offers = "@file"},
    OptionRow{.name = "force",
              .group = Group::Output,
              .help = "replace FILE if it exists; write to a FIFO or device",
              .read = turn_on<&Options::force>,
              .reports = kWithOutput},
    OptionRow{.name = "format",
              .letter = 'f',
              .argument = "NAME",
              .group = Group::Output,
              .help = "{formats}",
              .read = choose_format,
              .reports = kWithOutput,
              .offers = "@format"},
    OptionRow{.name = "json",
              .group = Group::Output,
              .help = "the same as -f json",
              .read = choose_json,
              .reports = kWithOutput},
    OptionRow{.name = "gzip",
              .letter = 'z',
              .group = Group::Output,
              .help = "compress the output; implied if FILE ends in .gz",
              .read = turn_on<&Options::with_gzip>,
              .reports = kWithOutput},
    OptionRow{
        .name = "human",
        .argument = "[=no]",
        .group = Group::Output,
        .help = "print sizes in tables as 1.2 MiB; the default on a terminal; =no turns it off",
        .read = set<one_of_or<kYesNo, true>, &Options::human>,
        .reports = kTables,
        .offers = "yes no"},

    OptionRow{.name = "top",
              .argument = "N",
              .group = Group::Rows,
              .help = "show only the first N rows",
              .read = set<at_least<1>, &Options::rows, &Rows::top>,
              .reports = Reports{Report::Count, Report::Sizes, Report::Diff, Report::Watch,
                                 Report::Strings, Report::Find, Report::Trace, Report::Leaks,
                                 Report::Serve, Report::List, Report::Merge}},
    OptionRow{.name = "type",
              .argument = "GLOB",
              .group = Group::Rows,
              .help = "show only these types: 'Acme::*'; may be repeated",
              .read = add<text, &Options::rows, &Rows::types>,
              .reports = kGrouped,
              .may_repeat = true,
              .offers = "@type"},
    OptionRow{.name = "min-bytes",
              .argument = "N",
              .group = Group::Rows,
              .help = "show only rows with at least N bytes (k, M, G)",
              .read = set<parse_size, &Options::rows, &Rows::min_bytes>,
              .reports = kTables},
    OptionRow{.name = "sort",
              .argument = "KEY",
              .group = Group::Rows,
              .help = "sort rows by bytes, count, name or retained; with --trace, by allocated "
                      "(default), in-use, count or rate",
              .read = by_report<set<one_of<kSorts>, &Options::rows, &Rows::sort>,
                                set<one_of<kTraceSorts>, &Options::trace, &Trace::sort>>,
              .reports = kGrouped,
              .offers = "bytes count name retained allocated in-use rate"},
    OptionRow{.name = "by",
              .argument = "GROUP",
              .group = Group::Rows,
              .help =
                  "group rows by type (default), by holder (counts each buffer under the type "
                  "that holds it) or by line (where Ruby allocated the objects); with --trace, by "
                  "stack (default), function, line, type, thread or fiber",
              .read = by_report<set<one_of<kGroups>, &Options::by>,
                                set<one_of<kTraceGroups>, &Options::trace, &Trace::by>>,
              .reports = kGrouped,
              .offers = "type holder stack function line thread fiber"},
    OptionRow{.name = "min-count",
              .argument = "N",
              .group = Group::Rows,
              .help = "show only rows with at least N allocations",
              .read = set<at_least<0>, &Options::trace, &Trace::min_count>,
              .reports = Reports{Report::Trace}},
    OptionRow{.name = "value",
              .argument = "NAME",
              .group = Group::Rows,
              .help = "choose the value for formats that hold only one: alloc_space, "
                      "alloc_objects, inuse_space or inuse_objects",
              .read = set<one_of<kTraceValues>, &Options::trace, &Trace::value>,
              .reports = Reports{Report::Trace},
              .offers = "alloc_space alloc_objects inuse_space inuse_objects"},
    OptionRow{.name = "fail-if",
              .argument = "EXPR",
              .group = Group::Rows,
              .help = "exit with status 10 if EXPR is true: 'count(User) > 1000'; also bytes(TYPE) "
                      "and retained(TYPE); with --diff and --watch, growth(TYPE) and "
                      "growth_bytes(TYPE), with --leaks, leaked(TYPE) and leaked_bytes(TYPE), with "
                      "--diagnose, found or stuck; with --stacks, deadlock; may be repeated",
              .read = add<parse_fail_if, &Options::fail_if>,
              .reports = kConditions,
              .may_repeat = true},
    OptionRow{.name = "allow-missing",
              .group = Group::Rows,
              .help = "with --fail-if, count 0 objects for an unknown type in it or in --type, "
                      "which is otherwise a usage error",
              .read = turn_on<&Options::allow_missing>,
              .reports = kGates},
    OptionRow{.name = "confirm",
              .argument = "TIME",
              .group = Group::Rows,
              .help = "look twice, TIME apart (2s), and show only what is leaked both times",
              .read = set<read_interval_with_unit, &Options::leaks, &Leaks::confirm>,
              .reports = Reports{Report::Leaks},
              .needs = Needs::Process},
    OptionRow{.name = "with-trace",
              .argument = "TIME",
              .group = Group::Rows,
              .help = "first record for TIME which code allocates, and show it for what has leaked "
                      "of that, or, with --suspects, for what has grown; also written --trace TIME "
                      "after `leaks` and `suspects`",
              .read = set<read_interval_with_unit, &Options::with_trace, &WithTrace::length>,
              .reports = Reports{Report::Leaks, Report::Suspects},
              .needs = Needs::Process},
    OptionRow{.name = "ignore",
              .argument = "GLOB|@FILE",
              .group = Group::Rows,
              .help = "leave out leaks whose root is of this type; FILE has one glob per line; may "
                      "be repeated",
              .read = add_ignored,
              .reports = Reports{Report::Leaks},
              .may_repeat = true},
    OptionRow{.name = "rounds",
              .argument = "N",
              .group = Group::Rows,
              .help = "compare N times (default 5)",
              .read = set<read_rounds, &Options::rounds>,
              .reports = Reports{Report::Watch}},
    OptionRow{.name = "when",
              .argument = "EXPR",
              .group = Group::Rows,
              .help =
                  "wait until EXPR is true, then save a snapshot and a diagnosis in the directory "
                  "given with -o: 'rss > 75%', 'memory > 90%', 'threads > 500', "
                  "'growth(rss) > 100M' (per minute), 'stuck', or a condition of --fail-if; may "
                  "be repeated",
              .read = add<parse_when, &Options::when, &Whens::conditions>,
              .reports = Reports{Report::Watch},
              .may_repeat = true},
    OptionRow{.name = "cooldown",
              .argument = "TIME",
              .group = Group::Rows,
              .help = "with --when, wait TIME after each capture of a process (default 5m)",
              .read = set<read_interval, &Options::when, &Whens::cooldown>,
              .reports = Reports{Report::Watch}},
    OptionRow{.name = "hook",
              .argument = "COMMAND",
              .group = Group::Rows,
              .help =
                  "with --when, run COMMAND in a shell after each capture; $1 is the file of the "
                  "snapshot, $2 that of the diagnosis, $3 the pid",
              .read = set<text, &Options::when, &Whens::hook>,
              .reports = Reports{Report::Watch}},

    OptionRow{.name = "paths",
              .argument = "N",
              .group = Group::Explain,
              .help = "show at most N paths (default 5)",
              .read = set<at_least<1>, &Options::explain, &Explain::paths>,
              .reports = Reports{Report::Why}},
    OptionRow{.name = "exclude",
              .argument = "TYPE:FIELD",
              .group = Group::Explain,
              .help = "ignore references from this field; may be repeated",
              .read = add<analyze::parse_exclusion, &Options::explain, &Explain::exclusions>,
              .reports = Reports{Report::Why},
              .may_repeat = true},
    OptionRow{.name = "from",
              .argument = "ROOT",
              .group = Group::Explain,
              .help = "show only paths from this root: a variable, or a glob such as '*fiber*'",
              .read = set<text, &Options::explain, &Explain::from>,
              .reports = Reports{Report::Why}},
    OptionRow{.name = "brief",
              .group = Group::Explain,
              .help = "fold frames in the runtime and in libraries; the default on a terminal",
              .read = turn_on<&Options::brief>,
              .reports = Reports{Report::Stacks}},
    OptionRow{.name = "full",
              .group = Group::Explain,
              .help = "show all frames",
              .read = show_all_frames,
              .reports = Reports{Report::Stacks, Report::Trace}},
    OptionRow{.name = "depth",
              .argument = "N",
              .group = Group::Explain,
              .help = "show only the N innermost frames",
              .read = set<at_least<1>, &Options::trace, &Trace::depth>,
              .reports = Reports{Report::Trace}},
    OptionRow{.name = "frames",
              .argument = "KIND",
              .group = Group::Explain,
              .help = "what to show of a frame: none, address, name or full (with file and line)",
              .read = set<one_of<kFrameTexts>, &Options::trace, &Trace::frames>,
              .reports = Reports{Report::Trace},
              .offers = "none address name full"},
    OptionRow{.name = "levels",
              .argument = "N",
              .group = Group::Explain,
              .help = "follow references backwards for N levels (default 5; 0: all)",
              .read = set<at_least<0>, &Options::explain, &Explain::levels>,
              .reports = Reports{Report::Graph}},
    OptionRow{.name = "objects",
              .argument = "N",
              .group = Group::Explain,
              .help = "start from at most N objects (default 10; 0: all)",
              .read = set<at_least<0>, &Options::explain, &Explain::objects>,
              .reports = Reports{Report::Graph}},

    OptionRow{.name = "all",
              .group = Group::Content,
              .help = "include objects that are allocated but no longer reachable",
              .read = turn_on<&Options::all>,
              .reports = kOfHeaps,
              .needs = Needs::ProcessOrCore},
    OptionRow{.name = "values",
              .argument = "[=N]",
              .group = Group::Content,
              .help = "include numbers, and the first N bytes of strings (default 64)",
              .read = set<read_value_bytes, &Options::value_bytes>,
              .reports = Reports{Report::Snapshot, Report::Inject, Report::Strings, Report::Find},
              .needs = Needs::ProcessOrCore},
    OptionRow{.name = "redact",
              .argument = "full",
              .group = Group::Content,
              .help = "replace all names with placeholders, except those from libraries",
              .read = set<read_redact, &Options::redact>,
              .reports = kWithOutput,
              .offers = "full"},

    OptionRow{.name = "heap",
              .argument = "WHICH",
              .group = Group::Content,
              .help = "auto (default: the collector's heap, or malloc's if there is no collector); "
                      "gc; ruby; malloc (of glibc or musl); both (in one snapshot)",
              .read = set<read_heap, &Options::heap>,
              .reports = Reports::all().without(
                  {Report::Stacks, Report::Call, Report::Ruby, Report::Inject, Report::List}),
              .offers = "@heap"},
    OptionRow{.name = "snapshot",
              .argument = "MODE",
              .group = Group::Pause,
              .help = "freeze (default); clone (stops the process for milliseconds, then reads a "
                      "copy of it); auto (picks one of these two); read (stops nothing; the result "
                      "may be inconsistent)",
              .read = set<one_of<kHolds>, &Options::hold>,
              .reports = Reports::all().without(
                  {Report::Stacks, Report::Trace, Report::Serve, Report::List}),
              .needs = Needs::Process,
              .offers = "freeze clone auto read"},
    OptionRow{.name = "max-pause",
              .argument = "MS",
              .group = Group::Pause,
              .help = "give up rather than stop the process for longer",
              .read = set<read_max_pause, &Options::max_pause>,
              .needs = Needs::Process},
    OptionRow{.name = "timeout",
              .argument = "S",
              .group = Group::Pause,
              .help = "stop after about S seconds (default 60)",
              .read = set<read_interval, &Options::timeout>},
    OptionRow{.name = "no-rewind",
              .group = Group::Pause,
              .help = "do not restart system calls that the freeze interrupted",
              .read = turn_off<&Options::rewind>,
              .needs = Needs::Process},

    OptionRow{.name = "returns",
              .argument = "KIND",
              .group = Group::Calls,
              .help = "type of the result to print: long (default), int, pointer, string or none",
              .read = set<one_of<kReturns>, &Options::returns>,
              .reports = Reports{Report::Call},
              .offers = "long int pointer string none"},
    OptionRow{.name = "in-place",
              .argument = "[=MANNER]",
              .group = Group::Calls,
              .help = "make the call in the process itself, on a thread that is waiting or in the "
                      "program's own code; this cannot be undone. The other threads are stopped "
                      "for up to --max-pause (hold) or keep running (run)",
              .read = set<one_of_or<kPlaces, CallPlace::Held>, &Options::place>,
              .reports = Reports{Report::Call},
              .offers = "hold run"},
    OptionRow{.name = "thread",
              .argument = "TID",
              .group = Group::Calls,
              .help = "the thread that makes the call (default: the first)",
              .read = set<read_thread, &Options::call_thread>,
              .reports = kCopies},
    OptionRow{.name = "allow-calls",
              .argument = "NAMES",
              .group = Group::Calls,
              .help = "let the copy make these system calls too, besides those in heapattach(1): "
                      "socket,connect",
              .read = set<read_calls, &Options::allowed_calls>,
              .reports = kCopies},
    OptionRow{.name = "routine",
              .argument = "NAME",
              .group = Group::Calls,
              .help = "the routine to call, as NAME(path, mode) (default: heapattach_dump, or else "
                      "heapdump_dump)",
              .read = set<text, &Options::routine>,
              .reports = Reports{Report::Inject},
              .offers = "heapattach_dump heapdump_dump"},
    OptionRow{.name = "library",
              .argument = "FILE",
              .group = Group::Calls,
              .help = "load this library into the copy if the process has no such routine "
                      "(default: heapattach's own)",
              .read = set<text, &Options::routine_library>,
              .reports = Reports{Report::Inject},
              .offers = "@file"},
    OptionRow{.name = "keep",
              .argument = "FILE|N",
              .group = Group::Calls,
              .help =
                  "keep the raw dump in FILE instead of making a snapshot; with --watch --when, "
                  "keep only the last N captures (default 5)",
              .read = read_keep,
              .reports = Reports{Report::Inject, Report::Watch},
              .offers = "@file"},

    OptionRow{
        .name = "for",
        .argument = "TIME",
        .group = Group::Trace,
        .help = "record for TIME: 500ms, 10s, 5m (default 30s); Ctrl-C or SIGTERM ends it early",
        .read = set<read_interval, &Options::trace, &Trace::length>,
        .reports = Reports{Report::Trace},
        .needs = Needs::Process},
    OptionRow{.name = "live",
              .group = Group::Trace,
              .help = "while recording, show the top rows on the terminal, every second",
              .read = turn_on<&Options::trace, &Trace::live>,
              .reports = Reports{Report::Trace},
              .needs = Needs::Process},
    OptionRow{.name = "every",
              .argument = "BYTES",
              .group = Group::Trace,
              .help = "take one sample per BYTES allocated, on average (default 512k); 1 records "
                      "all allocations; with --leaks, 4k, with --suspects, 16k, and at least 2",
              .read = by_report<set<at_least<2>, &Options::with_trace, &WithTrace::every>,
                                set<at_least<1>, &Options::trace, &Trace::every>>,
              .reports = Reports{Report::Trace, Report::Leaks, Report::Suspects},
              .needs = Needs::Process},
    OptionRow{.name = "no-mark",
              .group = Group::Trace,
              .help = "do not freeze the process once more at the end to mark its heap; \"in use\" "
                      "then means that no collection found it unreachable",
              .read = turn_off<&Options::trace, &Trace::with_final_mark>,
              .reports = Reports{Report::Trace},
              .needs = Needs::Process},

    OptionRow{.name = "listen",
              .argument = "ADDRESS",
              .group = Group::Serve,
              .help =
                  "listen on HOST:PORT with a numeric HOST (default 127.0.0.1:9748), or on a Unix "
                  "socket with this path; an address that other machines can reach needs "
                  "--token-file",
              .read = set<text, &Options::serve, &Serve::listen>,
              .reports = Reports{Report::Serve}},
    OptionRow{
        .name = "token-file",
        .argument = "FILE",
        .group = Group::Serve,
        .help = "answer only requests that contain the token in FILE, at least 16 characters that "
                "nobody else may read (chmod 600)",
        .read = set<text, &Options::serve, &Serve::token_file>,
        .reports = Reports{Report::Serve},
        .offers = "@file"},
    OptionRow{.name = "pause-budget",
              .argument = "MS",
              .group = Group::Serve,
              .help = "stop each process for at most MS milliseconds per minute (default 1000)",
              .read = set<read_max_pause, &Options::serve, &Serve::pause_budget>,
              .reports = Reports{Report::Serve}},
    OptionRow{.name = "allow-trace",
              .group = Group::Serve,
              .help =
                  "also answer /debug/pprof/allocs: code in the process records for up to a minute "
                  "what allocates, as with --trace",
              .read = turn_on<&Options::serve, &Serve::allow_trace>,
              .reports = Reports{Report::Serve}},
    OptionRow{.name = "max-bytes",
              .argument = "N",
              .group = Group::Serve,
              .help =
                  "write no report larger than N bytes (k, M, G; default 1G); with --when, keep at "
                  "most N bytes of captures in all (default 2G)",
              .read = set<parse_size, &Options::most_bytes>,
              .reports = Reports{Report::Serve, Report::Watch}},

    OptionRow{.name = "type-info",
              .argument = "FILE",
              .group = Group::Symbols,
              .help = "read type names from this file, written by the Crystal compiler",
              .read = set<text, &Options::type_info>,
              .offers = "@file"},
    OptionRow{.name = "exe",
              .argument = "FILE",
              .group = Group::Symbols,
              .help = "the program's executable, if it is no longer at its path",
              .read = set<text, &Options::symbols, &SymbolSearch::exe>,
              .needs = Needs::ProcessOrCore,
              .offers = "@file"},
    OptionRow{.name = "debug-dir",
              .argument = "DIR",
              .group = Group::Symbols,
              .help = "look for debug files in DIR; may be repeated",
              .read = add<text, &Options::symbols, &SymbolSearch::debug_dirs>,
              .needs = Needs::ProcessOrCore,
              .may_repeat = true,
              .offers = "@directory"},
    OptionRow{.name = "no-debuginfod",
              .group = Group::Symbols,
              .help = "do not ask the servers in DEBUGINFOD_URLS for debug files",
              .read = turn_off<&Options::with_debuginfod>,
              .needs = Needs::ProcessOrCore},
    OptionRow{.name = "no-cache",
              .group = Group::Symbols,
              .help = "neither read nor write types in ~/.cache/heapattach",
              .read = turn_off<&Options::with_cache>,
              .needs = Needs::ProcessOrCore},
    OptionRow{.name = "sysroot",
              .argument = "DIR",
              .group = Group::Symbols,
              .help = "look for the program's libraries under DIR",
              .read = set<text, &Options::symbols, &SymbolSearch::sysroot>,
              .needs = Needs::ProcessOrCore,
              .offers = "@directory"},

    OptionRow{.name = "color",
              .alias = "colour",
              .argument = "WHEN",
              .help = "use colour: auto, always or never",
              .read = set<one_of<kColours>, &Options::colour>,
              .offers = "auto always never"},
    OptionRow{.name = "quiet",
              .letter = 'q',
              .help = "print no summary",
              .read = turn_on<&Options::quiet>},
    OptionRow{.name = "verbose",
              .letter = 'v',
              .help = "print each step; show full type names",
              .read = turn_on<&Options::verbose>},
    // The parser answers these two itself, whatever else is asked.
    OptionRow{.name = "help",
              .letter = 'h',
              .argument = "[NAME|all]",
              .help = "show a summary, the help for one report, or all help"},
    OptionRow{
        .name = "version",
        .letter = 'V',
        .help = "print the version; with --json, also the reports and formats of this release"},
};

}  // namespace

std::string_view title_of(OptionGroup group) {
  switch (group) {
    case Group::Source: return "Which processes";
    case Group::Output: return "Output";
    case Group::Rows: return "Rows and conditions";
    case Group::Explain: return "Paths, frames and graphs";
    case Group::Content: return "Contents";
    case Group::Pause: return "The pause";
    case Group::Calls: return "Calls";
    case Group::Trace: return "Traces";
    case Group::Serve: return "Serving";
    case Group::Symbols: return "Types and symbols";
    case Group::General: break;
  }
  return "General";
}

std::span<const OptionRow> option_rows() {
  return kOptions;
}

const OptionRow* find_option(std::string_view name) {
  const auto* const found =
      std::find_if(kOptions.begin(), kOptions.end(), [name](const OptionRow& row) {
        return row.name == name || (!row.alias.empty() && row.alias == name);
      });
  return found == kOptions.end() ? nullptr : found;
}

const OptionRow* find_option(char letter) {
  const auto* const found =
      std::find_if(kOptions.begin(), kOptions.end(),
                   [letter](const auto& row) { return row.letter != 0 && row.letter == letter; });
  return found == kOptions.end() ? nullptr : found;
}

}  // namespace heapattach
