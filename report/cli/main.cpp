// heapattach: what is alive in the heap of a live process, or in a saved snapshot.

#include <csignal>
#include <span>
#include <variant>

#include <unistd.h>

#include "report/cli/guarded_run.h"
#include "report/cli/options.h"
#include "report/cli/process.h"
#include "report/cli/run_serve.h"
#include "report/cli/run_when.h"
#include "report/cli/sources.h"

namespace heapattach {

namespace {

// Without arguments, a person at a terminal gets the processes to choose from.
ExitStatus list_for_choosing() {
  constexpr const char* kArguments[] = {"list"};
  const auto options = std::get<Options>(parse_options(kArguments));
  const ExitStatus status = run_guarded_work(options, real_sources(), console_settings(&options));
  const bool has_none = status == ExitStatus::Denied || status == ExitStatus::Gone;
  return has_none ? ExitStatus::Usage : status;
}

ExitStatus run_with(std::span<const char* const> arguments) {
  if (arguments.empty() && ::isatty(STDOUT_FILENO) == 1) return list_for_choosing();
  const ParsedOptions parsed = parse_options(arguments);
  const auto* const options = std::get_if<Options>(&parsed);
  const Console::Settings settings = console_settings(options);
  if (const auto enough = check_descriptors(); options != nullptr && !enough) {
    Console(settings).error(enough.error().message());
    return ExitStatus::Failed;
  }
  if (options != nullptr && options->report == Report::Serve) return run_serve(*options, settings);
  if (options != nullptr && !options->when.conditions.empty()) return run_when(*options, settings);
  if (options != nullptr) return run_guarded_work(*options, real_sources(), settings);
  Console console(settings);
  if (const auto* shown = std::get_if<ShowText>(&parsed)) return show(*shown, console);
  return refuse(std::get<UsageError>(parsed), console);
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
