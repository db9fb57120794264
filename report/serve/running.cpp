#include "report/serve/running.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/first_to_die.h"
#include "attach/base/pipe.h"
#include "attach/sandbox/sandbox_walls.h"

namespace heapattach::serve {

namespace {

constexpr std::size_t kLastWords = 2048;

// Small reports are kept in memory; a snapshot goes to the disk.
Result<Fd> file_for(What what) {
  if (what == What::Snapshot) {
    const char* const given = std::getenv("TMPDIR");
    const std::string directory = given == nullptr || *given == '\0' ? "/var/tmp" : given;
    Fd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file.empty()) return file;
  }
  Fd file(::memfd_create("report", MFD_CLOEXEC));
  if (file.empty()) return os_error("making room for a report", errno);
  return file;
}

struct Ends {
  int output;
  int errors;
  int pauses;
};

// Prepares the new process: restores the signals' usual handlers, and closes the server's
// descriptors.
void become_a_run(const Ends& ends, std::uint64_t most_bytes) {
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(ends.output, STDOUT_FILENO);
  ::dup2(ends.errors, STDERR_FILENO);
  close_all_but({ends.pauses});
  be_first_to_die();
  const rlimit most{most_bytes, most_bytes};
  ::setrlimit(RLIMIT_FSIZE, &most);
}

[[noreturn]] void run(const ServeOptions& options, const Capture& capture, const Ends& ends) {
  become_a_run(ends, options.most_bytes);
  const int pauses = ends.pauses;
  const ExitStatus status = options.run(capture, [pauses](std::chrono::nanoseconds pause) {
    const std::int64_t length = pause.count();
    [[maybe_unused]] const ssize_t done = ::write(pauses, &length, sizeof length);
  });
  ::_exit(static_cast<int>(status));
}

// The last line, without "heapattach: " at its beginning.
std::string message_in(std::string_view errors) {
  while (errors.ends_with('\n')) errors.remove_suffix(1);
  std::string_view line = errors.substr(errors.rfind('\n') + 1);
  constexpr std::string_view kOurs = "heapattach: ";
  if (line.starts_with(kOurs)) line.remove_prefix(kOurs.size());
  return std::string(line);
}

// The sum of all pauses, because a report may stop the process several times.
std::optional<std::chrono::nanoseconds> sum_in(const Fd& pauses) {
  std::optional<std::chrono::nanoseconds> sum;
  std::int64_t one = 0;
  while (::read(pauses.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one)) {
    sum = sum.value_or(std::chrono::nanoseconds{}) +
          std::chrono::nanoseconds(std::max<std::int64_t>(one, 0));
  }
  return sum;
}

}  // namespace

Result<Running> Running::start(const ServeOptions& options, const Capture& capture) {
  Running running;
  running.capture_ = capture;
  running.output_ = HA_TRY(file_for(capture.what));
  Pipe errors = HA_TRY(make_pipe("making a pipe"));
  Pipe pauses = HA_TRY(make_pipe("making a pipe"));
  for (const Fd* const read : {&errors.reads, &pauses.reads}) {
    ::fcntl(read->get(), F_SETFL, O_NONBLOCK);
  }
  const pid_t keeper = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return os_error("fork", errno);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != keeper) ::_exit(1);
    run(options, capture, {running.output_.get(), errors.writes.get(), pauses.writes.get()});
  }
  running.pid_ = pid;
  running.errors_ = std::move(errors.reads);
  running.pauses_ = std::move(pauses.reads);
  return running;
}

Running::~Running() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

Running::Running(Running&& other) noexcept
    : capture_(other.capture_),
      pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      pauses_(std::move(other.pauses_)),
      last_words_(std::move(other.last_words_)) {}

Running& Running::operator=(Running&& other) noexcept {
  std::swap(capture_, other.capture_);
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(pauses_, other.pauses_);
  std::swap(last_words_, other.last_words_);
  return *this;
}

void Running::read_errors() {
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t got = ::read(errors_.get(), bytes.data(), bytes.size());
    if (got == 0) errors_.reset();
    if (got <= 0) return;
    last_words_.append(bytes.data(), static_cast<std::size_t>(got));
    if (last_words_.size() > kLastWords) {
      last_words_.erase(0, last_words_.size() - kLastWords);
    }
  }
}

Ending Running::end(int wait_status, std::chrono::nanoseconds processor_time) {
  pid_ = -1;
  if (!errors_.empty()) read_errors();
  Ending ending;
  ending.status = WIFEXITED(wait_status) ? static_cast<ExitStatus>(WEXITSTATUS(wait_status))
                                         : ExitStatus::Failed;
  ending.pause = sum_in(pauses_);
  ending.processor_time = processor_time;
  ending.message = message_in(last_words_);
  if (WIFSIGNALED(wait_status)) {
    ending.message = fmt::format("the run was killed by signal {}", WTERMSIG(wait_status));
  }
  if (is_report(ending.status)) ending.output = std::move(output_);
  if (ending.output.empty() && ending.message.empty()) {
    ending.message = fmt::format("the run ended with status {}", static_cast<int>(ending.status));
  }
  return ending;
}

}  // namespace heapattach::serve
