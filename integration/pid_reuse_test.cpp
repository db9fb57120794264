// HAZARDS E7: a pid that now belongs to another process is not the requested process.

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// Runs `work` as the first process of a pid namespace with its own /proc, where the number of the
// next process can be chosen. Returns the result of `work`; "skip: …" if there cannot be such a
// namespace.
std::string in_own_namespace(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t outer = ::fork();
  if (outer == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string said = "skip: unshare of the pid namespace fails";
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0) {
      const pid_t first = ::fork();
      if (first == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
        if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) {
          said = "skip: /proc cannot be mounted";
        } else {
          said = work();
        }
        if (::write(ends[1], said.data(), said.size()) < 0) ::_exit(1);
        ::_exit(0);
      }
      ::waitpid(first, nullptr, 0);
      ::_exit(0);
    }
    if (::write(ends[1], said.data(), said.size()) < 0) ::_exit(1);
    ::_exit(0);
  }
  ::close(ends[1]);
  const Fd answer(ends[0]);
  const auto said = read_all(answer, 1 << 20);
  ::waitpid(outer, nullptr, 0);
  REQUIRE(said.has_value());
  return *said;
}

// Starts a child that does nothing until it is killed. Its pid is `wanted`, if that is above 0.
pid_t start_idle(pid_t wanted = 0) {
  if (wanted > 0) std::ofstream("/proc/sys/kernel/ns_last_pid") << wanted - 1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

// Opens a process, lets another one take its number, and tries to freeze the opened one.
std::string freeze_successor(int times) {
  for (int round = 0; round < times; ++round) {
    const pid_t pid = start_idle(250);
    const auto process = Process::open(pid);
    if (!process) return "opening: " + text_of(process.error());
    end(pid);
    const pid_t successor = start_idle(pid);
    if (successor != pid) {
      end(successor);
      return "skip: the number of the next process cannot be chosen";
    }
    bool has_worked = false;
    const auto report = while_frozen(*process, {}, [&](const FrozenView&) -> Result<void> {
      has_worked = true;
      return {};
    });
    std::string harm = harm_done_to(successor);
    const auto maps = process->maps();
    const bool is_alive = process->is_alive();
    end(successor);
    if (has_worked || report) return "the successor was frozen";
    if (report.error().kind != ErrorKind::Gone) return "not Gone but " + text_of(report.error());
    if (!harm.empty()) return harm;
    if (maps) return "the maps of the successor were read";
    if (is_alive) return "it is reported alive";
  }
  return "ok";
}

// Freezes the process with the number 250 while processes with that number come and go. A freeze
// must hold no thread of another process, and must not read a successor.
std::string freeze_in_a_churn(int times) {
  const pid_t churn = ::fork();
  if (churn == 0) {
    for (;;) {
      const pid_t pid = start_idle(250);
      ::usleep(static_cast<useconds_t>(std::rand() % 3000));
      end(pid);
    }
  }
  int frozen = 0;
  std::string wrong;
  const auto end_of_time = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int round = 0; (round < times || frozen == 0) && wrong.empty();) {
    if (std::chrono::steady_clock::now() > end_of_time) return "the number is never seen alive";
    const auto process = Process::open(250);
    if (!process) continue;
    ++round;
    if (round % 2 == 0) ::usleep(static_cast<useconds_t>(std::rand() % 200));
    const auto report = while_frozen(*process, {}, [&](const FrozenView& view) -> Result<void> {
      ++frozen;
      for (const FrozenThread& thread : view.threads) {
        if (thread.tid != 250) wrong = "a thread of another process";
      }
      return {};
    });
    if (!report && report.error().kind != ErrorKind::Gone) wrong = text_of(report.error());
    // Once the opened process is dead, its descriptor must not give the maps of a successor.
    if (report && !process->is_alive() && process->maps()) wrong = "a successor was read";
  }
  end(churn);
  ::kill(250, SIGKILL);
  return wrong.empty() ? fmt::format("ok {} of {} frozen", frozen, times) : wrong;
}

void check(const std::string& said) {
  if (said.rfind("skip: ", 0) == 0) {
    print_skip(said.substr(6));
    return;
  }
  CHECK_MESSAGE(said.rfind("ok", 0) == 0, said);
  print_figure("E7: " + said);
}

}  // namespace

TEST_CASE("the successor under the same number is never frozen") {
  check(in_own_namespace([] { return freeze_successor(rounds(50, 1000)); }));
}

TEST_CASE("in a churn of processes with one number, the frozen process is the opened one") {
  check(in_own_namespace([] { return freeze_in_a_churn(rounds(500, 10'000)); }));
}

}  // namespace heapattach
