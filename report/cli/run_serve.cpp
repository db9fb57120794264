#include "report/cli/run_serve.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/guardian.h"
#include "attach/base/page.h"
#include "attach/process/kernel_text.h"
#include "attach/process/process.h"
#include "attach/process/stat_field.h"
#include "attach/process/thread_state.h"
#include "report/cli/errors.h"
#include "report/cli/find_processes.h"
#include "report/cli/guarded_run.h"
#include "report/cli/option_table.h"
#include "report/cli/report_table.h"
#include "report/cli/run_many.h"
#include "report/cli/sources.h"
#include "report/format/export/formats.h"
#include "report/serve/serve.h"

namespace heapattach {

namespace {

using serve::ServedProcess;
using serve::What;

// The report and the format for each capture.
struct Recipe {
  What what;
  Report report;
  std::string_view format;
  bool with_gzip = false;
};
constexpr std::array kRecipes{
    Recipe{What::Counts, Report::Count, "openmetrics"},
    Recipe{What::Stacks, Report::Stacks, "table"},
    Recipe{What::StacksJson, Report::Stacks, "json"},
    Recipe{What::Diagnosis, Report::Diagnose, "table"},
    Recipe{What::DiagnosisJson, Report::Diagnose, "json"},
    Recipe{What::Snapshot, Report::Snapshot, "jsonl", true},
    Recipe{What::Profile, Report::Snapshot, "pprof", true},
    Recipe{What::Allocations, Report::Trace, "pprof", true},
};

const Recipe& recipe_for(What what) {
  return *std::find_if(kRecipes.begin(), kRecipes.end(),
                       [what](const Recipe& recipe) { return recipe.what == what; });
}

// Nothing over HTTP may show values, and nothing but a recording, which the operator has allowed,
// may write to the process: every other report freezes it, and a Ruby process is read from outside,
// as with an explicit --snapshot freeze.
Options options_for(const Options& given, const serve::Capture& capture) {
  constexpr std::uint64_t kUsualTop = 50;  // keeps the number of series small
  const Recipe& recipe = recipe_for(capture.what);
  Options one = given;
  one.report = recipe.report;
  one.format = find_format(recipe.format, row_of(recipe.report).writers);
  one.with_gzip = recipe.with_gzip;
  one.tree = false;
  one.name.clear();
  one.pids = {capture.pid};
  one.pid = capture.pid;
  one.hold = snapshot::Hold::Freeze;
  one.given.push_back(find_option("snapshot"));
  if (!one.rows.top) one.rows.top = kUsualTop;
  one.max_pause = std::min(given.max_pause.value_or(kLongestFreeze), capture.longest_pause);
  if (serve::is_recording(capture.what)) {
    one.trace.length = capture.length;
    one.trace.with_final_mark = false;  // it would stop the process once more
  }
  one.quiet = true;
  one.verbose = false;
  one.colour = ColourChoice::Never;
  return one;
}

// The real sources, which also pass on how long each of them has stopped the process.
Sources measured_sources(const std::function<void(std::chrono::nanoseconds)>& paused) {
  const auto pass_on = [paused](std::optional<double> pause_ms) {
    const std::chrono::duration<double, std::milli> pause(pause_ms.value_or(0));
    paused(std::chrono::duration_cast<std::chrono::nanoseconds>(pause));
  };
  Sources sources = real_sources();
  sources.snapshot = [pass_on](const Options& options, const Deadline& deadline, Console& console) {
    auto taken = real_sources().snapshot(options, deadline, console);
    if (taken) pass_on(taken->header.pause_ms);
    return taken;
  };
  sources.stacks = [paused](const Options& options, const Deadline& deadline, Console& console) {
    auto taken = real_sources().stacks(options, deadline, console);
    if (taken) paused(taken->pause);
    return taken;
  };
  sources.trace = [paused](const Options& options, const Deadline& deadline, Console& console,
                           const std::function<void()>& before_leaving) {
    auto taken = real_sources().trace(options, deadline, console, before_leaving);
    if (taken) paused(taken->header.stopped);
    return taken;
  };
  sources.diagnosis = [pass_on](const Options& options, const Deadline& deadline,
                                Console& console) {
    auto taken = real_sources().diagnosis(options, deadline, console);
    if (taken) pass_on(taken->pause_ms);
    return taken;
  };
  return sources;
}

// The processes that the options choose, without ours.
std::vector<ServedProcess> served_processes(const Options& options) {
  std::vector<ServedProcess> served;
  const auto pids = chosen_processes(options);
  if (!pids) return served;
  const std::vector<pid_t> ours = our_processes();
  for (const pid_t pid : *pids) {
    const bool is_ours = std::find(ours.begin(), ours.end(), pid) != ours.end();
    const std::string stat = kernel_text(fmt::format("/proc/{}/stat", pid));
    const auto state = parse_thread_state(stat);
    if (is_ours || !state || state->is_exiting() || state->is_kernel_thread()) continue;
    constexpr int kResidentPages = 24;
    const auto pages = stat_field(stat, kResidentPages);
    served.push_back({pid, state->start_ticks, pages ? *pages * page_bytes() : 0, state->name});
  }
  return served;
}

}  // namespace

ExitStatus run_serve(const Options& options, const Console::Settings& settings) {
  Console console(settings);
  serve::ServeOptions how;
  how.listen = options.serve.listen;
  how.token_file = options.serve.token_file;
  how.pause_budget = options.serve.pause_budget;
  how.allows_recording = options.serve.allow_trace;
  if (options.most_bytes != 0) how.most_bytes = options.most_bytes;
  how.processes = [&options] { return served_processes(options); };
  how.run = [&](const serve::Capture& capture,
                const std::function<void(std::chrono::nanoseconds)>& paused) {
    const auto process = Process::open(capture.pid);
    const bool is_another = process && process->start_ticks() != capture.started;
    if (is_another) return ExitStatus::Gone;
    Console::Settings quiet = settings;
    quiet.quiet = true;
    quiet.verbose = false;
    quiet.is_terminal = false;
    return run_guarded_work(options_for(options, capture), measured_sources(paused), quiet);
  };
  how.say = [&console](std::string_view text) { console.say(text); };
  const auto served = serve::serve(how);
  if (served) return ExitStatus::Complete;
  return report_failure(served.error(), Stage::Output, Deadline{}, console);
}

}  // namespace heapattach
