// A program has to be stopped while its code is read and changed. That takes a tenth of a second,
// in which a program can start, make all its objects and end. A trace can begin once the collector
// is initialised, which nothing announces. So the program runs in slices that are short at first,
// and is stopped between them with SIGSTOP, which needs no permission to trace and leaves nothing
// behind. A program that never uses a collector would be stopped most of the time, so after a
// second of that the slices become longer than the stops. If we die meanwhile, a process of ours
// notices the end of a pipe and continues it.
//
// Rejected: stepping it from system call to system call with ptrace. A program makes tens of
// thousands of calls before it first allocates, and then only a freeze, from another thread, may
// insert the tracer.

#include "report/trace/launched.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/interrupt.h"
#include "attach/base/pipe.h"
#include "attach/process/start_program.h"

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kFirstSlice{500};
constexpr std::chrono::microseconds kLongestSlice{50'000};
// The total time for which it is stopped before its slices get longer, because it may use no
// collector. After that it is stopped for at most a fifth of the time.
constexpr auto kShortlyStopped = 1s;
constexpr int kRunsLonger = 4;

[[noreturn]] void keep_running(pid_t pid, int lifeline) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  char none = 0;
  while (::read(lifeline, &none, 1) < 0 && errno == EINTR) {
  }
  kill(pid, SIGCONT);
  _exit(0);
}

}  // namespace

Result<Launched> Launched::start(const std::vector<std::string>& command) {
  Pipe alive = HA_TRY(make_pipe("making a pipe"));
  const pid_t pid = HA_TRY(start_program(command));
  const pid_t keeper = fork();
  if (keeper == 0) {
    alive.writes.reset();
    keep_running(pid, alive.reads.get());
  }
  return Launched(pid, keeper, std::move(alive.writes));
}

Launched::~Launched() {
  run_on();
}

Error Launched::ended_early() {
  return Error{ErrorKind::Gone,
               fmt::format("the program {} before it could be traced", ended_.value_or("ended"))}
      .advise("a program that uses libgc, or malloc of glibc or musl, and runs longer");
}

Result<void> Launched::stop() {
  if (kill(pid_, SIGSTOP) != 0 && errno == EPERM) {
    return Error{ErrorKind::Denied, "the program runs as another user now and cannot be stopped"}
        .advise("start it without sudo, or trace the program that sudo starts by its pid");
  }
  int status = 0;
  pid_t got = 0;
  while ((got = waitpid(pid_, &status, WUNTRACED)) < 0 && errno == EINTR) HA_TRY(check_interrupt());
  if (got == pid_ && WIFSTOPPED(status)) return {};
  note_end(got, status);
  return ended_early();
}

Result<void> Launched::run_until(const std::function<Result<void>()>& is_ready,
                                 std::chrono::milliseconds patience) {
  const auto until = Clock::now() + patience;
  Clock::duration stopped{};
  Clock::duration slice = kFirstSlice;
  for (;;) {
    std::this_thread::sleep_for(slice);
    HA_TRY(stop());
    const auto begin = Clock::now();
    auto ready = is_ready();
    if (ready) return {};
    kill(pid_, SIGCONT);
    HA_TRY(check_interrupt());
    const auto now = Clock::now();
    if (now >= until) return ready;
    stopped += now - begin;
    slice = std::min<Clock::duration>(slice * 3 / 2, kLongestSlice);
    if (stopped > kShortlyStopped) slice = std::max(slice, kRunsLonger * (now - begin));
  }
}

void Launched::run_on() {
  if (pid_ == 0 || lifeline_.get() < 0) return;
  if (!ended_) kill(pid_, SIGCONT);
  lifeline_.reset();
  if (keeper_ > 0) waitpid(keeper_, nullptr, 0);
}

std::optional<std::string> Launched::end() {
  if (ended_) return ended_;
  int status = 0;
  const pid_t got = waitpid(pid_, &status, WNOHANG);
  note_end(got, status);
  return ended_;
}

// The thread that traced the program may already have reaped it.
void Launched::note_end(pid_t got, int status) {
  if (got == pid_) ended_ = describe_end(status);
  if (got >= 0 || errno != ECHILD) return;
  const auto known = ended_program(pid_);
  ended_ = known ? describe_end(*known) : "ended";
}

}  // namespace heapattach::trace
