#include "integration/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapattach {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::pair<Fd, Fd> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

int milliseconds_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// Appends what can be read before `deadline`. Returns false at the end of the stream or after the
// deadline.
bool read_more(const Fd& from, std::string& into, steady_clock::time_point deadline) {
  pollfd ready{from.get(), POLLIN, 0};
  if (::poll(&ready, 1, milliseconds_until(deadline)) <= 0) return false;
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
  if (got <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

// Runs in the child between fork and exec; only async-signal-safe calls.
[[noreturn]] void become(const std::vector<char*>& arguments,
                         const std::array<int, 3>& streams,
                         uid_t uid,
                         pid_t parent) {
  ::setpgid(0, 0);
  // Resets the signal handlers that the test has installed: a signal may arrive before exec.
  for (int number = 1; number < SIGSYS; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int stream = 0; stream < 3; ++stream) {
    const int from = streams[static_cast<std::size_t>(stream)];
    if (from >= 0) ::dup2(from, stream);
  }
  if (uid != 0 && (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)) {
    ::_exit(126);
  }
  // Must be set after the change of user, which clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const ChildOptions& options) {
  auto [child_input, input] = make_pipe();
  auto [output, child_output] = make_pipe();
  auto [errors, child_errors] = make_pipe();
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::array<int, 3> streams{child_input.get(), child_output.get(),
                                   options.capture_stderr ? child_errors.get() : -1};
  const pid_t parent = ::getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  if (pid_ == 0) become(arguments, streams, options.uid, parent);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid_ < 0) throw std::runtime_error("fork");
  ::setpgid(pid_, pid_);  // both processes do it, so that its group can always be killed
  input_ = std::move(input);
  output_ = std::move(output);
  errors_ = std::move(errors);
}

ChildProcess::~ChildProcess() {
  ::kill(-pid_, SIGKILL);
  if (!status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void ChildProcess::send_line(const std::string& line) {
  const std::string text = line + "\n";
  // If the child is dead, the missing answer shows it.
  ::signal(SIGPIPE, SIG_IGN);
  if (::write(input_.get(), text.data(), text.size()) < 0) return;
}

std::optional<std::string> ChildProcess::read_line(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  for (;;) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    if (!read_more(output_, pending_, deadline)) return std::nullopt;
  }
}

std::string ChildProcess::read_rest(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  while (read_more(output_, pending_, deadline)) {
  }
  return std::exchange(pending_, {});
}

std::string ChildProcess::read_errors(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  std::string text;
  while (read_more(errors_, text, deadline)) {
  }
  return text;
}

void ChildProcess::signal(int number) const {
  if (!status_) ::kill(pid_, number);
}

std::optional<int> ChildProcess::wait_end(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  while (!status_) {
    int status = 0;
    const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) {
      status_ = status;
    } else if (steady_clock::now() >= deadline) {
      break;
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return status_;
}

}  // namespace heapattach
