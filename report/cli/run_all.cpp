#include "report/cli/run_all.h"

#include <chrono>

#include "attach/base/guardian.h"
#include "inject/leftovers.h"
#include "inject/trace/removal.h"
#include "report/cli/confine_to_files.h"
#include "report/cli/errors.h"
#include "report/cli/file_kind.h"
#include "report/cli/process.h"
#include "report/cli/report_table.h"
#include "report/cli/run_many.h"
#include "report/cli/runner.h"
#include "report/cli/sources.h"

namespace heapattach {

namespace {

// Not if the process must not be stopped, and not after the deadline: the next report clears it up
// as well.
void clear_up(const Options& options, Console& console) {
  if (options.hold == snapshot::Hold::Nothing || options.report == Report::Check) return;
  if (std::chrono::steady_clock::now() >= guarded_deadline()) return;
  const auto process = Process::open(options.pid);
  if (!process) return;
  if (const auto cleared = clear_leftovers(*process); !cleared) {
    console.step("the leftovers of a killed heapattach could not be removed: " +
                 cleared.error().message());
  }
  const auto repaired = trace::repair(*process);
  if (repaired && repaired->is_whole) return;
  if (!repaired && repaired.error().kind == ErrorKind::Traced) return;  // it is in use
  console.step("the recorder of a killed heapattach could not be removed: " +
               (repaired ? repaired->why : repaired.error().message()));
}

}  // namespace

ExitStatus run_all(const Options& options, Console& console) {
  if (const auto suits = refuse_for_file_kind(options); !suits) {
    return refuse(usage_error(suits.error(), row_of(options.report).name), console);
  }
  if (is_of_files(options)) confine_to_files(options, console);
  const bool has_program = !options.trace.command.empty() || !options.leaks.command.empty();
  if (!options.file.empty() || !options.compared.empty() || has_program) {
    return run_report(options, real_sources(), console);
  }
  const auto pids = chosen_processes(options);
  if (!pids) return report_failure(pids.error(), Stage::Target, Deadline{}, console);
  const auto run = [&console](const Options& one) {
    const ExitStatus status = run_report(one, real_sources(), console);
    clear_up(one, console);
    return status;
  };
  return run_many(options, *pids, run, console);
}

}  // namespace heapattach
