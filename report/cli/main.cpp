// heapattach: what is alive in the heap of a live process, or in a saved snapshot.

#include <chrono>
#include <csignal>
#include <cstring>
#include <span>
#include <variant>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/base/guardian.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/cli/process.h"
#include "report/cli/run_all.h"

namespace heapattach {

namespace {

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
               ? fmt::format(
                     "interrupted by signal {}; there is no report, because a read did not return",
                     *end.asked_by)
               : "the deadline passed; there is no report, because a read took too long or did not "
                 "return";
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
