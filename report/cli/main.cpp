// heapattach: what is alive in the heap of a live process, or was in a saved snapshot.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/guardian.h"
#include "inject/leftovers.h"
#include "report/call/in_place_call.h"
#include "report/cli/confine_to_files.h"
#include "report/cli/console.h"
#include "report/cli/errors.h"
#include "report/cli/file_kind.h"
#include "report/cli/guarded_status.h"
#include "report/cli/look.h"
#include "report/cli/options.h"
#include "report/cli/redaction.h"
#include "report/cli/run.h"
#include "report/cli/run_call.h"
#include "report/cli/run_check.h"
#include "report/cli/run_diff.h"
#include "report/cli/run_explain.h"
#include "report/cli/run_inject.h"
#include "report/cli/run_many.h"
#include "report/cli/run_stacks.h"
#include "report/cli/run_strings.h"
#include "report/cli/run_summary.h"
#include "report/cli/run_watch.h"
#include "report/cli/take_file.h"
#include "report/cli/write_text.h"
#include "report/collect/examine.h"
#include "report/collect/take.h"
#include "report/format/write/output_file.h"
#include "report/stacks/take_stacks.h"

namespace heapattach {

namespace {

// Started with one of them closed, the next file opened would take its number, and the report or
// an error message would land in it. Opened for the wrong direction each still fails as if closed.
void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) {
      ::dup2(opened, fd);
      ::close(opened);
    }
  }
}

snapshot::Hold hold_of(SnapshotMode mode) {
  switch (mode) {
    case SnapshotMode::Read: return snapshot::Hold::Nothing;
    case SnapshotMode::Clone: return snapshot::Hold::Clone;
    case SnapshotMode::Auto: return snapshot::Hold::Auto;
    case SnapshotMode::Freeze: break;
  }
  return snapshot::Hold::Freeze;
}

SymbolSearch symbol_search(const Options& options) {
  SymbolSearch search;
  search.exe = options.exe;
  search.debug_dirs = options.debug_dirs;
  search.sysroot = options.sysroot;
  return search;
}

snapshot::TakeOptions take_options(const Options& options,
                                   const Deadline& deadline,
                                   Console& console) {
  snapshot::TakeOptions what;
  what.pid = options.pid;
  what.core_file = options.file;
  what.hold = hold_of(options.mode);
  what.rewind = options.rewind;
  what.max_pause = options.max_pause;
  what.with_unreachable = options.all;
  what.with_edges = needs_edges(options);
  what.with_contents = needs_contents(options);
  what.value_bytes = options.value_bytes;
  what.texts_only = options.report == Report::Strings;
  what.type_info = options.type_info;
  what.symbols = symbol_search(options);
  what.deadline = deadline;
  // Steps and warnings have names in them.
  if (options.redact) {
    console.step("no steps are shown with --redact");
    what.warn = [&console](std::string_view) { console.say("a warning: shown without --redact"); };
    return what;
  }
  what.note = [&console](std::string_view step) { console.step(step); };
  what.warn = [&console](std::string_view text) { console.say(text); };
  return what;
}

Result<snapshot::Snapshot> take(const Options& options,
                                const Deadline& deadline,
                                Console& console) {
  const bool is_other_file = !options.file.empty() && !is_elf_file(options.file);
  auto taken =
      HA_TRY(is_other_file ? take_from_file(options, deadline, console)
                           : snapshot::take_snapshot(take_options(options, deadline, console)));
  redact_if_asked(options, taken, console);
  return taken;
}

Result<TakenSummary> take_summary(const Options& options,
                                  const Deadline& deadline,
                                  Console& console) {
  TakenSummary taken;
  if (!options.file.empty() && !is_elf_file(options.file)) {
    taken.snapshot = HA_TRY(take_from_file(options, deadline, console));
    redact_if_asked(options, taken.snapshot, console);
    return taken;
  }
  snapshot::TakeOptions what = take_options(options, deadline, console);
  what.with_unreachable = true;
  what.on_memory = [&taken](const snapshot::SeenMemory& seen) { taken.memory = seen; };
  taken.snapshot = HA_TRY(snapshot::take_snapshot(what));
  redact_if_asked(options, taken.snapshot, console);
  return taken;
}

Result<snapshot::Examination> examine(const Options& options,
                                      const Deadline& deadline,
                                      Console& console) {
  return snapshot::examine(take_options(options, deadline, console));
}

Result<stacks::StackReport> take_stacks(const Options& options,
                                        const Deadline& deadline,
                                        Console& console) {
  stacks::StackOptions what;
  what.pid = options.pid;
  what.core_file = options.file;
  what.rewind = options.rewind;
  what.max_pause = options.max_pause;
  what.type_info = options.type_info;
  what.symbols = symbol_search(options);
  what.deadline = deadline;
  what.note = [&console](std::string_view step) { console.step(step); };
  return stacks::take_stacks(what);
}

CallOptions call_options(const Options& options, const Deadline& deadline, Console& console) {
  CallOptions what;
  what.pid = options.pid;
  what.call = options.call;
  what.place = options.place;
  what.returns = options.returns;
  what.thread = options.call_thread;
  what.allowed_calls = options.allowed_calls;
  what.rewind = options.rewind;
  what.max_pause = options.max_pause;
  what.symbols = symbol_search(options);
  what.deadline = deadline;
  what.note = [&console](std::string_view step) { console.step(step); };
  what.warn = [&console](std::string_view warning) { console.error(warning); };
  return what;
}

Result<CallReport> call(const Options& options, const Deadline& deadline, Console& console) {
  const CallOptions what = call_options(options, deadline, console);
  return what.place == CallPlace::Clone ? call_in_clone(what) : call_in_process(what);
}

Result<CallReport> call_routine(const Options& options,
                                const Deadline& deadline,
                                Console& console,
                                const Routine& routine) {
  CallOptions what = call_options(options, deadline, console);
  what.call = routine.call;
  what.or_else = routine.or_else;
  what.routine_library = routine.routine_library;
  what.take_written = routine.take_written;
  what.patience = routine.patience;
  what.most_written_times = routine.most_written_times;
  return call_in_clone(what);
}

// --help and --version are data: a full disk under them is an error like any other.
ExitStatus show(const ShowText& shown, Console& console) {
  auto output = OpenOutput::standard_output();
  if (output) {
    OutputFile sink(std::move(output).value(), Deadline{});
    const auto written = sink.write(shown.text);
    if (written || has_reader_gone({}, written.error())) return ExitStatus::Complete;
    console.error(written.error().message);
    return ExitStatus::Output;
  }
  console.error(output.error().message);
  return ExitStatus::Output;
}

ExitStatus run_one(const Options& options, Console& console) {
  switch (options.report) {
    case Report::Check: return run_check(options, examine, console);
    case Report::Stacks: return run_stacks(options, take_stacks, console);
    case Report::Call: return run_call(options, call, console);
    case Report::Inject: return run_inject(options, call_routine, console);
    case Report::Diff: return run_diff(options, take, console);
    case Report::Watch: return run_watch(options, take, console);
    case Report::Summary: return run_summary(options, take_summary, console);
    case Report::Strings: return run_strings(options, take, console);
    case Report::Why:
    case Report::Suspects:
    case Report::Graph:
    case Report::ObjectSizes: return run_explain(options, take, console);
    case Report::Snapshot:
    case Report::Count:
    case Report::Sizes: break;
  }
  return run(options, take, console);
}

// What a heapattach that was killed has left in the process. Not where the process is not to be
// stopped, and not once the time is over: the next report clears it up as well.
void clear_up(const Options& options, Console& console) {
  if (options.mode == SnapshotMode::Read || options.report == Report::Check) return;
  if (std::chrono::steady_clock::now() >= guarded_deadline()) return;
  const auto process = Process::open(options.pid);
  if (!process) return;
  if (const auto cleared = clear_leftovers(*process); !cleared) {
    console.step("what a heapattach that was killed has left stays: " + cleared.error().message);
  }
}

ExitStatus run_live(const Options& options, Console& console) {
  const ExitStatus status = run_one(options, console);
  clear_up(options, console);
  return status;
}

Console::Settings console_settings(const Options* options) {
  Console::Settings settings;
  const Surroundings around = surroundings();
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  settings.is_ascii = wants_ascii(around, is_terminal);
  settings.is_terminal = is_terminal && !is_dumb(around);  // a line cannot be written over there
  if (options == nullptr) return settings;
  settings.quiet = options->quiet;
  settings.verbose = options->verbose;
  settings.with_colour =
      wants_colour(options->colour, settings.is_terminal, std::getenv("NO_COLOR"));
  return settings;
}

ExitStatus run_options(const Options& options, Console& console) {
  if (const auto refused = refuse_for_file_kind(options)) {
    console.error(fmt::format("{}; try: heapattach --help", *refused));
    return ExitStatus::Usage;
  }
  if (is_of_files(options)) confine_to_files(options, console);
  if (!options.file.empty() || !options.compared.empty()) return run_one(options, console);
  const auto pids = chosen_processes(options);
  if (!pids) {
    console.error(error_message(pids.error(), Stage::Target));
    return exit_status_of(pids.error().kind, Stage::Target);
  }
  return run_many(
      options, *pids, [&](const Options& one) { return run_live(one, console); }, console);
}

// Runs `work` with a last handler. It is load-bearing: where no handler exists, C++ may end the
// process without unwinding, and it is unwinding that lets a frozen target go.
int caught(const std::function<ExitStatus()>& work) {
  try {
    return static_cast<int>(work());
  } catch (const std::bad_alloc&) {
    std::fputs("heapattach: out of memory; try: --count, which needs less\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heapattach: a mistake of ours: %s\n", error.what());
  }
  return static_cast<int>(ExitStatus::Failed);
}

ExitStatus run_with(std::span<const char* const> arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  const auto* const options = std::get_if<Options>(&parsed);
  const Console::Settings settings = console_settings(options);
  if (options != nullptr) {
    const auto end = run_guarded(std::chrono::steady_clock::now() + options->timeout, [&]() -> int {
      return caught([&] {
        Console console(settings);
        return run_options(*options, console);
      });
    });
    Console console(settings);
    return status_of(end, console);
  }
  Console console(settings);
  if (const auto* shown = std::get_if<ShowText>(&parsed)) return show(*shown, console);
  const auto& wrong = std::get<UsageError>(parsed);
  console.error(fmt::format("{}; try: heapattach --help", wrong.message));
  return ExitStatus::Usage;
}

}  // namespace

}  // namespace heapattach

int main(int count, char** arguments) {
  return heapattach::caught([&] {
    heapattach::occupy_standard_descriptors();
    // A closed pipe and a file at its limit are errors with a message and a status.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const std::size_t skipped = count > 0 ? 1 : 0;
    return heapattach::run_with(
        std::span<const char* const>(arguments, static_cast<std::size_t>(count)).subspan(skipped));
  });
}
