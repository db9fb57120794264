#include "report/cli/report_table.h"

#include <algorithm>
#include <array>

#include "report/cli/read_values.h"
#include "report/cli/reports.h"

namespace heapattach {

namespace {

const std::array kReports{
    ReportRow{.report = Report::Diagnose,
              .name = "diagnose",
              .help = "what is wrong: hung, leaking, bloated, or nothing",
              .more =
                  "Looks at threads, fibers, the heap, all memory, and limits. The first line is "
                  "the verdict with its proof; then come at most three findings, and the command "
                  "to run next. --fail-if found ends with status 10 if a fault was found.",
              .examples = {"diagnose 4711", "diagnose --fail-if found --tree 4711"},
              .written = "this report is",
              .writers = writes<&Format::diagnosis>,
              .answer = run_diagnose},
    ReportRow{.report = Report::Count,
              .name = "count",
              .help = "objects and bytes per type",
              .more = "The total is the number of bytes that the collector, or malloc, has in use. "
                      "With --fail-if, a script can test the counts.",
              .examples = {"count --top 20 4711", "count --fail-if 'count(User) > 1000' 4711"},
              .written = "counts are",
              .writers = writes<&Format::counts>,
              .answer = run_snapshot},
    ReportRow{.report = Report::Sizes,
              .name = "retained",
              .option = "sizes",
              .help = "objects, bytes and retained bytes per type",
              .more = "Retained bytes would be freed if all objects of the type were; "
                      "transitive bytes are everything reachable from them. With an ADDRESS before "
                      "SOURCE, shows the sizes of one object.",
              .examples = {"retained 4711", "retained 0x7f12a0 heap.jsonl.gz"},
              .written = "counts are",
              .writers = writes<&Format::counts>,
              .answer = run_snapshot},
    ReportRow{.report = Report::Suspects,
              .name = "suspects",
              .help = "the few objects that keep most memory alive",
              .more =
                  "Each is shown with a path from the root that keeps it alive. --trace 60s also "
                  "shows what grows in that time, and which code adds to it.",
              .examples = {"suspects --trace 60s 4711", "suspects heap.jsonl.gz"},
              .written = "this report is",
              .writers = writes<&Format::suspects>,
              .answer = run_suspects},
    ReportRow{
        .report = Report::Why,
        .name = "why",
        .argument = "TYPE|ADDRESS",
        .help = "what keeps objects alive, as paths from the roots",
        .more =
            "TYPE is a full name, a glob, or a name without its namespaces if that is unambiguous.",
        .examples = {"why Session 4711", "why Session --from CACHE heap.jsonl.gz"},
        .written = "this report is",
        .writers = writes<&Format::why>,
        .read = set<text, &Options::explain, &ExplainOptions::what>,
        .answer = run_why,
        .is_of_one_process = true},
    ReportRow{.report = Report::Graph,
              .name = "graph",
              .argument = "TYPE|ADDRESS",
              .help = "what references objects, as a Mermaid graph",
              .examples = {"graph Session 4711", "graph Session -o session.dot 4711"},
              .written = "a graph is",
              .writers = writes<&Format::graph>,
              .read = set<text, &Options::explain, &ExplainOptions::what>,
              .answer = run_graph,
              .is_of_one_process = true},
    ReportRow{.report = Report::Find,
              .name = "find",
              .argument = "EXPR",
              .help = "objects whose fields have the given values",
              .more = "EXPR is TYPE, or TYPE[PATH OP VALUE and ...], as in the examples. OP is ==, "
                      "!=, <, <=, >, >= or ~ (matches a glob); VALUE is \"text\", a number, true, "
                      "false or nil. A file has values only if it was saved with --values. "
                      "Each line starts with an address for --why.",
              .examples = {"find 'Session[@user.name == \"ann\"]' 4711",
                           "find 'Cart[@session == nil]' heap.jsonl.gz"},
              .written = "this report is",
              .writers = writes<&Format::found>,
              .read = set<read_find, &Options::explain, &ExplainOptions::find>,
              .answer = run_find,
              .is_of_one_process = true},
    ReportRow{.report = Report::Stacks,
              .name = "stacks",
              .help = "what threads and fibers are waiting for, and why a process hangs",
              .more = "Works for any program, with or without a collector, and for core files and "
                      "saved snapshots. If a problem was found, the first line states it.",
              .examples = {"stacks 4711", "stacks --fail-if deadlock 4711"},
              .written = "stacks are",
              .writers = writes<&Format::stacks>,
              .answer = run_stacks},
    ReportRow{
        .report = Report::Diff,
        .name = "diff",
        .source = "BEFORE AFTER [LAST]",
        .help = "growth per type between two snapshots or processes",
        .more = "With three sources, shows what appeared after BEFORE and is still there in LAST.",
        .examples = {"diff before.jsonl.gz 4711", "diff a.jsonl b.jsonl c.jsonl"},
        .written = "a difference is",
        .writers = writes<&Format::growth, &Format::growth_page>,
        .answer = run_diff},
    ReportRow{.report = Report::Merge,
              .name = "merge",
              .source = "SOURCE...",
              .help = "one table of the types in many snapshots, with the outliers",
              .more = "Shows the median of each type, and which snapshots are far from it. Reads "
                      "one snapshot at a time; --timeout limits all of them together. -f perfetto "
                      "writes a timeline of the whole heaps.",
              .examples = {"merge --top 20 web-*.jsonl.gz", "merge -o all.csv web-*.jsonl.gz"},
              .written = "this table is",
              .writers = writes<&Format::merged, &Format::is_series>,
              .answer = run_merge},
    ReportRow{
        .report = Report::Watch,
        .name = "watch",
        .argument = "INTERVAL",
        .source = "PID",
        .help = "types that grew in every round",
        .more = "With --when, saves snapshots on a condition. INTERVAL is 10s by default, or 250ms "
                "with --when, and needs a unit there.",
        .examples = {"watch 1m --rounds 10 4711", "watch --when 'memory > 85%' -o dumps 4711"},
        .written = "this report is",
        .writers = writes<&Format::growth, &Format::latest_counts>,
        .read = set<read_interval, &Options::interval>,
        .answer = run_watch,
        .needs = Needs::Process,
        .is_of_one_process = true},
    ReportRow{.report = Report::Snapshot,
              .name = "snapshot",
              .option = "-",
              .help = "all objects, types, edges and roots, as JSON Lines",
              .more = "The default report. If standard output is a terminal, the snapshot goes to "
                      "heap.PID.jsonl.",
              .examples = {"-o heap.jsonl.gz 4711", "snapshot --values -o 'heap.%p.%t.jsonl' 4711"},
              .written = "a snapshot is",
              .writers = writes<&Format::snapshot_lines, &Format::snapshot>,
              .answer = run_snapshot},
    ReportRow{.report = Report::Snapshot,
              .name = "export",
              .option = "-",
              .help = "a snapshot in another tool's format, or as a page for a browser",
              .more = "The format comes from -f or from the extension of -o FILE.",
              .examples = {"export -o heap.html 4711", "export -f pprof -o heap.pb.gz heap.jsonl"},
              .written = "a snapshot is",
              .writers = writes<&Format::snapshot_lines, &Format::snapshot>,
              .answer = run_snapshot},
    ReportRow{.report = Report::Strings,
              .name = "strings",
              .help = "strings that the heap contains more than once",
              .examples = {"strings --top 10 4711", "strings --values=20 heap.jsonl"},
              .written = "this report is",
              .writers = writes<&Format::strings>,
              .answer = run_strings},
    ReportRow{.report = Report::Summary,
              .name = "summary",
              .help = "what the memory of the process is used for",
              .more =
                  "Compares used and free heap, stacks and other mappings with the resident size. "
                  "Names what is large outside the heap, and the runtime that keeps its "
                  "objects there; also for a process whose heap cannot be read.",
              .examples = {"summary 4711", "summary -f json 4711"},
              .written = "this report is",
              .writers = writes<&Format::summary>,
              .answer = run_summary},
    ReportRow{.report = Report::Leaks,
              .name = "leaks",
              .source = "SOURCE | --at-exit -- COMMAND",
              .help = "malloc's allocations that the program can no longer reach",
              .more = "With a collector, use --heap malloc. --confirm 2s looks twice; --trace 60s "
                      "shows the code.",
              .examples = {"leaks --trace 60s 4711",
                           "leaks --at-exit --fail-if 'leaked(*) > 0' -- ./app --port 3000"},
              .written = "this report is",
              .writers = writes<&Format::leaks, &Format::trace, &Format::trace_page>,
              .answer = run_leaks,
              .is_of_one_process = true},
    ReportRow{.report = Report::Trace,
              .name = "trace",
              .source = "SOURCE | -- COMMAND",
              .help = "which code allocates what, and how much of it stays in use",
              .more = "SOURCE may be a saved trace. With a collector, --heap malloc traces malloc.",
              .examples = {"trace --for 1m -o trace.jsonl.gz 4711",
                           "trace --every 1 -o trace.jsonl.gz -- ./app --port 3000"},
              .written = "a trace is",
              .writers =
                  writes<&Format::sites, &Format::trace_lines, &Format::trace, &Format::trace_page>,
              .answer = run_trace,
              .is_of_one_process = true},
    ReportRow{.report = Report::Serve,
              .name = "serve",
              .source = "PID...",
              .help = "reports over HTTP, for Prometheus, profilers and people",
              .more =
                  "Answers on 127.0.0.1:9748, unless --listen says otherwise: /metrics, /diagnose, "
                  "/stacks, /snapshot, /debug/pprof/heap, and / with links to them. Stops no "
                  "process for longer than --pause-budget per minute, and shows no values. Only "
                  "--allow-trace lets it write to a process.",
              .examples = {"serve --name 'web-*'", "serve --listen /run/heapattach.sock 4711"},
              .needs = Needs::Process},
    ReportRow{
        .report = Report::List,
        .name = "list",
        .source = {},
        .help = "the processes that can be read, with their runtimes and memory",
        .more = "The process with the most resident memory comes first; --name GLOB selects some. "
                "On a terminal, heapattach without arguments does the same.",
        .examples = {"list", "list --json --name 'web-*'"},
        .written = "this report is",
        .writers = writes<&Format::processes>,
        .answer = run_list},
    ReportRow{.report = Report::Check,
              .name = "check",
              .source = "PID",
              .help = "check permission and estimate the pause",
              .more = "Stops nothing and writes nothing. The exit status is what taking a snapshot "
                      "would return, as far as that shows without stopping the process.",
              .examples = {"check 4711", "check -f json 4711"},
              .written = "this report is",
              .writers = writes<&Format::check>,
              .answer = run_check,
              .needs = Needs::Process},
    ReportRow{.report = Report::Call,
              .name = "call",
              .argument = "'FN(\"x\", 1)'",
              .source = "PID",
              .help = "call a C function in a copy of the process",
              .more = "Prints what the function wrote and what it returned. heapattach(1), \"Calls "
                      "in a copy\", lists what the function may do.",
              .examples = {"call 'GC_get_heap_size()' 4711", "call --returns string 'name()' 4711"},
              .read = set<parse_call, &Options::call>,
              .answer = run_call,
              .needs = Needs::Process,
              .is_of_one_process = true},
    ReportRow{.report = Report::Ruby,
              .name = "ruby",
              .argument = "CODE",
              .source = "PID",
              .help = "evaluate Ruby code in a copy of a Ruby process",
              .more = "Prints the code's output, and its value or exception. The process itself "
                      "keeps running unchanged.",
              .examples = {"ruby 'ObjectSpace.count_objects' 4711",
                           "ruby 'Thread.list.map(&:backtrace)' 4711"},
              .read = set<text, &Options::ruby_code>,
              .answer = run_ruby_code,
              .needs = Needs::Process,
              .is_of_one_process = true},
    ReportRow{.report = Report::Inject,
              .name = "inject",
              .source = "PID",
              .help = "a snapshot made by the program's own dump routine, in a copy of the process",
              .more = "With --keep FILE, saves the raw dump instead.",
              .examples = {"inject -o heap.jsonl 4711", "inject --keep heap.dump 4711"},
              .written = "a snapshot is",
              .writers = writes<&Format::snapshot_lines, &Format::snapshot>,
              .answer = run_inject,
              .needs = Needs::Process,
              .is_of_one_process = true},
    // --sizes ADDRESS: read_sources.cpp makes it of --sizes.
    ReportRow{.report = Report::ObjectSizes,
              .option = "-",
              .written = "this report is",
              .writers = writes<&Format::object_sizes>,
              .answer = run_object_sizes,
              .is_of_one_process = true},
};

}  // namespace

std::span<const ReportRow> report_rows() {
  return kReports;
}

const ReportRow& row_of(Report report) {
  return *std::find_if(kReports.begin(), kReports.end(),
                       [report](const ReportRow& row) { return row.report == report; });
}

const ReportRow* find_report(std::string_view name) {
  const auto* const found =
      std::find_if(kReports.begin(), kReports.end(), [name](const ReportRow& row) {
        return !row.name.empty() && (row.name == name || row.option == name);
      });
  return found == kReports.end() ? nullptr : found;
}

const ReportRow* find_report_option(std::string_view option) {
  const auto* const found =
      std::find_if(kReports.begin(), kReports.end(), [option](const ReportRow& row) {
        const bool is_its_name = row.name == option && row.option != "-" && !row.name.empty();
        return is_its_name || (row.option == option && option != "-");
      });
  return found == kReports.end() ? nullptr : found;
}

std::vector<std::string_view> subcommands() {
  std::vector<std::string_view> names = {"help"};
  for (const ReportRow& row : report_rows()) {
    if (!row.name.empty()) names.push_back(row.name);
  }
  return names;
}

std::vector<const Format*> formats_of(const ReportRow& row) {
  return row.writers == nullptr ? std::vector<const Format*>() : formats_with(row.writers);
}

std::vector<std::string_view> names_of(const std::vector<const Format*>& formats) {
  std::vector<std::string_view> names(formats.size());
  std::transform(formats.begin(), formats.end(), names.begin(),
                 [](const Format* format) { return format->name; });
  return names;
}

std::string_view option_of(const ReportRow& row) {
  if (row.option == "-") return {};
  return row.option.empty() ? row.name : row.option;
}

std::string shown_name(const ReportRow& row) {
  const std::string_view option = option_of(row);
  if (!option.empty()) return fmt::format("--{}", option);
  return row.report == Report::ObjectSizes ? "--sizes ADDRESS" : "a snapshot";
}

}  // namespace heapattach
