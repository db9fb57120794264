#include "report/cli/process.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "report/cli/text_style.h"
#include "report/cli/write_text.h"
#include "report/format/write/output_file.h"

namespace heapattach {

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

Result<void> check_descriptors() {
  constexpr rlim_t kNeeded = 48;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  rlim_t left = 0;
  for (rlim_t fd = 0; fd < limit.rlim_cur && left < kNeeded; ++fd) {
    if (::fcntl(static_cast<int>(fd), F_GETFD) < 0) ++left;
  }
  if (left >= kNeeded) return {};
  return Error{ErrorKind::Impossible,
               fmt::format("the limit of open files leaves {} of the {} that heapattach needs",
                           left, kNeeded)}
      .advise(fmt::format("ulimit -n {}", limit.rlim_cur + kNeeded));
}

int caught(const std::function<ExitStatus()>& work) {
  try {
    return static_cast<int>(work());
  } catch (const std::bad_alloc&) {
    std::fputs("heapattach: out of memory; try: --count, which needs less\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heapattach: internal error: %s\n", error.what());
  }
  return static_cast<int>(ExitStatus::Failed);
}

Console::Settings console_settings(const Options* options) {
  Console::Settings settings;
  const Surroundings around = surroundings();
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  settings.is_ascii = wants_ascii(around, is_terminal);
  settings.is_terminal = is_terminal && !is_dumb(around);  // a line cannot be overwritten there
  if (options == nullptr) return settings;
  settings.quiet = options->quiet;
  settings.verbose = options->verbose;
  settings.with_colour =
      wants_colour(options->colour, settings.is_terminal, std::getenv("NO_COLOR"));
  return settings;
}

ExitStatus show(const ShowText& shown, Console& console) {
  auto output = OpenOutput::standard_output();
  if (output) {
    OutputFile sink(std::move(output).value(), Deadline{});
    const auto written = sink.write(shown.text);
    if (written || has_reader_gone({}, written.error())) return ExitStatus::Complete;
    console.error(written.error().message());
    return ExitStatus::Output;
  }
  console.error(output.error().message());
  return ExitStatus::Output;
}

ExitStatus refuse(const UsageError& error, Console& console) {
  console.error(error.help.empty() ? error.message
                                   : fmt::format("{}; try: {}", error.message, error.help));
  return ExitStatus::Usage;
}

}  // namespace heapattach
