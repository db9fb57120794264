#include "attach/process/process_end.h"

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapattach {

namespace {

struct Waiting {
  pid_t pid = ::fork();
  Waiting() {
    if (pid != 0) return;
    ::signal(SIGUSR1, [](int) { ::_exit(3); });
    ::signal(SIGTERM, SIG_DFL);
    ::kill(::getpid(), SIGSTOP);
    for (;;) ::pause();
  }
  // Ends the child by a signal, and waits until it is a zombie.
  void end_by(int signal) const {
    ::kill(pid, signal);
    ::kill(pid, SIGCONT);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  }
};

void check_end(int signal, const std::string& words) {
  const Waiting child;
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child.pid), &info, WSTOPPED | WNOWAIT);
  const auto process = Process::open(child.pid);
  REQUIRE(process);
  const ProcessEnd end(*process);
  CHECK_FALSE(end.status());
  child.end_by(signal);
  CHECK(end.words() == words);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  // Kernels before 6.15 tell the status only to the parent.
  const auto known = end.status();
  CHECK((!known || *known == status));
  CHECK((known || end.words() == "has ended"));
}

}  // namespace

TEST_CASE("how another's child ended is known while it is a zombie, and perhaps later") {
  check_end(SIGKILL, "was killed by SIGKILL");
  check_end(SIGTERM, "was killed by SIGTERM");
  check_end(SIGUSR1, "exited with status 3");
}

}  // namespace heapattach
