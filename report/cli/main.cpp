// heapattach: what is alive in the heap of a live process, or in a saved snapshot.

#include <chrono>
#include <csignal>
#include <span>
#include <variant>

#include "attach/base/guardian.h"
#include "report/cli/console.h"
#include "report/cli/guarded_status.h"
#include "report/cli/options.h"
#include "report/cli/process.h"
#include "report/cli/run_all.h"

namespace heapattach {

namespace {

// How long the last messages wait for a reader of standard error.
constexpr std::chrono::milliseconds kForLastWords{200};

// A child does the work, and its guardian ends it if it is late, whatever it waits for.
ExitStatus run_guarded_work(const Options& options, const Console::Settings& settings) {
  const auto until = std::chrono::steady_clock::now() + options.timeout;
  const GuardedEnd end = run_guarded(until, [&]() -> int {
    return caught([&] {
      Console console(settings);
      return run_all(options, console);
    });
  });
  Console console(settings);
  const Console::Unwaiting unwaiting(console, kForLastWords);
  return status_of(end, console);
}

ExitStatus run_with(std::span<const char* const> arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  const auto* const options = std::get_if<Options>(&parsed);
  const Console::Settings settings = console_settings(options);
  if (options != nullptr) return run_guarded_work(*options, settings);
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
