#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "report/analyze/exclusion.h"
#include "report/analyze/find_expression.h"
#include "report/call/function_call.h"
#include "report/cli/fail_if.h"
#include "report/cli/when.h"
#include "report/collect/take_options.h"
#include "report/format/write/together.h"
#include "report/model/counts.h"
#include "report/trace/sites.h"

namespace heapattach {

enum class Report : std::uint8_t {
  Snapshot,
  Count,
  Sizes,
  Check,
  Stacks,
  Call,
  Ruby,
  Inject,
  Diff,
  Watch,
  Strings,
  Why,
  Suspects,
  Graph,
  Find,
  ObjectSizes,
  Summary,
  Trace,
  Leaks,
  Diagnose,
  Serve,
  List,
  Merge,
};
enum class ColourChoice : std::uint8_t { Auto, Always, Never };

struct Format;
struct OptionRow;

// The leaks that --leaks leaves out.
struct LeakReportOptions {
  std::vector<std::string> ignored;                    // globs of types
  std::optional<std::chrono::milliseconds> confirm{};  // until a second look
  bool at_exit = false;
  std::vector<std::string> command{};  // of at_exit: the program to start
};

// A trace beside a report on a heap, --leaks or --suspects, to show the code.
struct WithTraceOptions {
  static constexpr std::uint64_t kEveryOfLeaks = std::uint64_t{4} << 10;
  static constexpr std::uint64_t kEveryOfSuspects = std::uint64_t{16} << 10;

  std::optional<std::chrono::milliseconds> length{};  // none: no trace
  std::optional<std::uint64_t> every{};  // bytes allocated for a sample; none: as above
};

// The options of --why, --graph, --find and --sizes ADDRESS.
struct ExplainOptions {
  std::string what;              // a type or an address; empty: not requested
  analyze::FindExpression find;  // of --find
  std::size_t paths = 5;
  std::vector<analyze::Exclusion> exclusions;
  std::string from;          // roots; empty: all
  std::size_t levels = 5;    // of the graph; 0: all
  std::size_t objects = 10;  // of the graph; 0: all
};

// The options of --trace. Those for types, minimum bytes and number of rows are shared by all
// tables.
struct TraceReportOptions {
  std::vector<std::string> command;                // a program to start; empty: none
  bool live = false;                               // the table is shown while it is recorded
  bool with_final_mark = true;                     // the heap at the end says what is dead
  std::uint64_t every = std::uint64_t{512} << 10;  // bytes allocated for a sample; 1: all
  std::chrono::milliseconds length{30'000};        // 0: until the process exits
  trace::GroupBy by = trace::GroupBy::Stack;
  trace::SortBy sort = trace::SortBy::Allocated;
  double min_count = 0;
  std::optional<trace::FrameText> frames;  // none: as suits the format
  bool with_all_frames = false;
  std::size_t depth = 0;              // frames; 0: all
  std::optional<trace::Value> value;  // none: as suits the format
};

// The options of --serve.
struct ServeReportOptions {
  std::string listen = "127.0.0.1:9748";
  std::string token_file;                        // empty: no token
  std::chrono::milliseconds pause_budget{1000};  // per minute and process
  bool allow_trace = false;                      // of allocations, by code in the processes
};

// The options of --watch --when, which waits for a moment and keeps what there is to see then.
struct WhenOptions {
  std::vector<When> conditions;                 // any of them; empty: a watch of growth
  std::chrono::milliseconds cooldown{300'000};  // between two captures of a process
  unsigned keep = 5;                            // captures
  std::string hook;  // a command of the shell, which gets the names of the files; empty: none
};

// One source.
struct Source {
  pid_t pid = 0;
  std::string file;  // a saved snapshot instead of a process; empty: none
};

// The command line, checked for contradictions without touching the system. Each field is set by
// a row of option_table.cpp or report_table.cpp, except the deadline and the functions of Request,
// which request_of() (sources.h) sets for a run. Its `pid` is that of a single run, and its `file`
// may also be a saved snapshot.
struct Options : Request {
  Report report = Report::Snapshot;
  std::vector<const OptionRow*> given;  // the options that set the other fields, in order
  bool tree = false;                    // include all descendants of each of `pids`
  std::vector<pid_t> pids;              // all that were given
  std::string name;                     // a pattern for the names of processes instead; empty: none
  std::vector<Source> compared;         // of --diff: two or three, in order; of --merge: all
  std::string baseline;                 // of --diagnose: an earlier snapshot; empty: none
  bool is_one_of_several = false;       // this run is of one of several processes
  // Where this run puts its text, to be joined with those of the other processes; null: it writes
  // the text itself.
  std::vector<ReportText>* gathered = nullptr;

  std::string output;  // as given, before %p and so on are expanded; empty: standard output
  const Format* format = nullptr;  // one in which the report can be written
  bool force = false;
  bool with_gzip = false;

  unsigned rounds = 5;  // of --watch: number of comparisons with the previous counts
  std::chrono::milliseconds interval{};  // of --watch: between two counts

  snapshot::RowChoice rows;
  std::size_t value_bytes = 0;  // of texts and numbers to show; 0: none, or the default
  std::vector<FailIf> fail_if;
  bool allow_missing = false;  // count an unknown type in a condition as 0 objects
  snapshot::CountBy by = snapshot::CountBy::Type;
  bool all = false;     // include unreachable objects
  bool redact = false;  // replace names

  bool with_debuginfod = true;

  snapshot::Hold hold = snapshot::Hold::Freeze;
  snapshot::HeapChoice heap = {};
  std::chrono::milliseconds timeout{60000};

  bool quiet = false;
  bool verbose = false;
  ColourChoice colour = ColourChoice::Auto;
  std::optional<bool>
      brief;  // of --stacks: fold frames that are not the program's own; none: only on a terminal
  std::optional<bool> human;  // sizes in KiB and MiB; none: only on a terminal

  ExplainOptions explain;
  TraceReportOptions trace;
  LeakReportOptions leaks;
  WithTraceOptions with_trace;
  ServeReportOptions serve;
  WhenOptions when;
  std::uint64_t most_bytes = 0;  // of a report of --serve, of all files of --when; 0: the default

  CallExpression call;    // of --call
  std::string ruby_code;  // of --ruby
  CallPlace place = CallPlace::Clone;
  Returns returns = Returns::Long;
  std::optional<pid_t> call_thread;  // of --call and --inject
  std::vector<int> allowed_calls;    // … system calls, besides the usual ones
  std::string routine;               // of --inject; empty: the known ones
  std::string routine_library;       // … loaded if the target has no routine; empty: ours
  std::string keep;                  // … the file for its dump
};

// Whether the report needs a list of the objects, and not only how many there are of each type.
[[nodiscard]] bool needs_objects(const Options& options);
// Whether the report needs the references between the objects.
[[nodiscard]] bool needs_edges(const Options& options);

// Whether the report needs all bytes of the objects.
[[nodiscard]] bool needs_contents(const Options& options);

// Text to print instead of working: --help, --version.
struct ShowText {
  std::string text;
};

struct UsageError {
  std::string message;
  std::string help;  // the command that prints more; empty if the message says what to do
};
// For an error in the options of this report; of none if `report` is empty.
[[nodiscard]] UsageError usage_error(const Error& error, std::string_view report);

using ParsedOptions = std::variant<Options, ShowText, UsageError>;

// Parses the arguments after the program's name.
[[nodiscard]] ParsedOptions parse_options(std::span<const char* const> arguments);

}  // namespace heapattach
