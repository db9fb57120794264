#include "attach/process/start_program.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/pipe.h"

namespace heapattach {

namespace {

pid_t started_pid = 0;  // the last program that was started
std::optional<int> started_end;

// Waits for one byte from `go` first: without it, there is nothing to become.
[[noreturn]] void become(const std::vector<std::string>& command, int go, int report_to) {
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGCHLD}) std::signal(signal, SIG_DFL);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  char one = 0;
  ssize_t got = 0;
  while ((got = read(go, &one, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) _exit(127);
  execvp(words.front(), words.data());
  const int failure = errno;
  static_cast<void>(!write(report_to, &failure, sizeof failure));
  _exit(127);
}

// Also if it is traced: then it stops before it ends, and no signal gets it out of there.
void kill_and_reap(pid_t pid) {
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  }
}

}  // namespace

Result<pid_t> start_program(const std::vector<std::string>& command,
                            const std::function<Result<void>(pid_t)>& prepare) {
  Pipe failed = HA_TRY(make_pipe("making a pipe"));
  Pipe gate = HA_TRY(make_pipe("making a pipe"));
  const pid_t pid = fork();
  const int failure = errno;
  if (pid < 0) return os_error("starting the program", failure);
  if (pid == 0) {
    gate.writes.reset();
    become(command, gate.reads.get(), failed.writes.get());
  }
  failed.writes.reset();
  if (prepare) {
    if (auto prepared = prepare(pid); !prepared) {
      kill_and_reap(pid);
      return std::move(prepared).error();
    }
  }
  const char go = 1;
  static_cast<void>(!write(gate.writes.get(), &go, 1));
  int why = 0;
  ssize_t got = 0;
  while ((got = read(failed.reads.get(), &why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (got != sizeof why) {
    started_pid = pid;
    started_end.reset();
    return pid;
  }
  kill_and_reap(pid);
  return Error{ErrorKind::Gone, fmt::format("starting {}: {}", command.front(), std::strerror(why))}
      .advise("the path of the program");
}

void note_program_end(pid_t pid, int status) noexcept {
  if (pid == started_pid) started_end = status;
}

std::optional<int> ended_program(pid_t pid) noexcept {
  return pid == started_pid ? started_end : std::nullopt;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const char* const name = sigabbrev_np(WTERMSIG(status));
    return name == nullptr ? fmt::format("was killed by signal {}", WTERMSIG(status))
                           : fmt::format("was killed by SIG{}", name);
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

}  // namespace heapattach
