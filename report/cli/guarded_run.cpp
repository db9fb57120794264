#include "report/cli/guarded_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include "attach/base/guardian.h"
#include "attach/sandbox/confined.h"
#include "inject/leftovers.h"
#include "inject/trace/removal.h"
#include "report/cli/debug_files.h"
#include "report/cli/errors.h"
#include "report/cli/file_kind.h"
#include "report/cli/output_name.h"
#include "report/cli/process.h"
#include "report/cli/report_table.h"
#include "report/cli/run_many.h"
#include "report/format/write/output_file.h"
#include "report/short_names.h"

namespace heapattach {

namespace {

// Whether a report reads only files: snapshots, dumps, core files.
bool is_of_files(const Options& options) {
  if (options.compared.empty()) return !options.file.empty();
  return std::none_of(options.compared.begin(), options.compared.end(),
                      [](const Source& source) { return source.file.empty(); });
}

// For such a report, opens the output and gives up all rights except to read the files named in the
// options and, for a core file, the files that it names (attach/sandbox/confined.h). Call it before
// reading any of them.
void confine_to_files(Options& options, Console& console) {
  BrokerDuties duties;
  duties.files = {options.file, options.baseline, options.type_info, options.symbols.exe};
  for (const Source& source : options.compared) duties.files.push_back(source.file);
  std::erase(duties.files, std::string());
  duties.opens_any_file = std::any_of(duties.files.begin(), duties.files.end(), is_elf_file);
  const Deadline deadline = Deadline::in(options.timeout);
  if (const std::string name = output_name(options); !name.empty()) {
    OpenOutput::open_ahead(name, options.force, deadline);
    duties.publish = OpenOutput::publish_ahead;
    duties.end = OpenOutput::drop_ahead;
  }
  if (duties.opens_any_file) duties.find_debug_file = duty_to_ask_servers(options, deadline);
  const auto done = confine(duties, deadline);
  if (!done) {
    options.symbols.server = debug_server(options, console);
    console.step("the file is read with all rights: " + done.error().message());
    return;
  }
  if (duties.find_debug_file) options.symbols.server = brokered_debug_server(console);
  console.step("gave up all rights except to read the named files");
  for (const std::string& note : done->notes) console.step(note);
}

// Not if the process must not be stopped, and not after the deadline: the next report clears it up
// as well.
void clear_up(const Options& options, const Deadline& deadline, Console& console) {
  if (options.hold == snapshot::Hold::Nothing || options.report == Report::Check) return;
  if (deadline.has_passed()) return;
  const auto process = Process::open(options.pid);
  if (!process) return;
  if (const auto cleared = clear_leftovers(*process, deadline); !cleared) {
    console.step("the leftovers of a killed heapattach could not be removed: " +
                 cleared.error().message());
  }
  const auto repaired = trace::repair(*process, deadline);
  if (repaired && repaired->is_whole) return;
  if (!repaired && repaired.error().kind == ErrorKind::Traced) return;  // it is in use
  console.step("the recorder of a killed heapattach could not be removed: " +
               (repaired ? repaired->why : repaired.error().message()));
}

// Runs the requested report on all sources: a file, sources to compare, or processes one after
// another. Cleans up the leftovers of a killed heapattach in each process.
ExitStatus run_all(const Options& given, const Sources& sources, Console& console) {
  Options options = given;
  if (const auto suits = refuse_for_file_kind(options); !suits) {
    return refuse(usage_error(suits.error(), row_of(options.report).name), console);
  }
  if (row_of(options.report).source.empty()) return run_report(options, sources, console);
  if (is_of_files(options)) {
    confine_to_files(options, console);
  } else {
    options.symbols.server = debug_server(options, console);
  }
  const bool has_program = !options.trace.command.empty() || !options.leaks.command.empty();
  if (!options.file.empty() || !options.compared.empty() || has_program) {
    return run_report(options, sources, console);
  }
  const auto pids = chosen_processes(options);
  if (!pids) return report_failure(pids.error(), Stage::Target, Deadline{}, console);
  const auto run = [&](const Options& one) {
    Deadline deadline = Deadline::in(one.timeout);
    const ExitStatus status = run_report(one, sources, console, deadline);
    clear_up(one, deadline, console);
    return status;
  };
  return run_many(options, *pids, run, console);
}

// Our parent should see what ended the work; one core file of it is enough.
void die_by(int signal) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

std::string reason_of(const GuardedEnd& end) {
  std::string text = end.why;
  if (text.empty()) {
    text = end.asked_by
               ? fmt::format("interrupted by signal {}; nothing was written", *end.asked_by)
               : "the deadline passed; nothing was written, because a read took too long";
  }
  text += "; any process that heapattach held keeps running";
  if (end.is_left) {
    text +=
        "; a process of heapattach is waiting in the kernel for a file system that does not "
        "respond, and exits when the file system does";
  }
  return text;
}

// The exit status after guarded work has ended. Prints what the work could not print itself. If a
// signal killed the work, kills this process with the same signal.
ExitStatus status_of(const GuardedEnd& end, Console& console) {
  if (end.status) return static_cast<ExitStatus>(*end.status);
  if (end.signal && end.asked_by) {  // we were asked twice
    die_by(*end.signal);
  } else if (end.signal) {
    console.error(
        fmt::format("killed by signal {} ({}); any process that heapattach held keeps running",
                    *end.signal, ::strsignal(*end.signal)));
    die_by(*end.signal);
  }
  console.error(reason_of(end));
  if (end.asked_by && end.why.empty()) {
    return *end.asked_by == SIGTERM ? ExitStatus::Terminated : ExitStatus::Interrupted;
  }
  return ExitStatus::Timeout;
}

// How long the last messages wait for a reader of standard error.
constexpr std::chrono::milliseconds kForLastWords{200};

}  // namespace

ExitStatus run_guarded_work(const Options& options,
                            const Sources& sources,
                            const Console::Settings& settings) {
  const auto until = std::chrono::steady_clock::now() + options.timeout;
  const GuardedEnd end = run_guarded(until, [&]() -> int {
    return caught([&] {
      Console console(settings);
      show_full_type_names(options.verbose);
      return run_all(options, sources, console);
    });
  });
  Console console(settings);
  const Console::Unwaiting unwaiting(console, kForLastWords);
  return status_of(end, console);
}

}  // namespace heapattach
