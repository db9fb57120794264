// HAZARDS A8: processes that cannot be frozen are refused at once, with the reason; processes that
// only look strange are frozen.

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/freezing.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

struct Refusal {
  Error error{ErrorKind::Os, "it was not refused"};
  double milliseconds = 0;
};

Refusal refusal_of(pid_t pid) {
  const auto start = std::chrono::steady_clock::now();
  const auto report = freeze_once(pid);
  Refusal refusal;
  refusal.milliseconds = in_milliseconds(std::chrono::steady_clock::now() - start);
  if (!report) refusal.error = report.error();
  return refusal;
}

bool names(const Refusal& refusal, const std::string& word) {
  return refusal.error.message().find(word) != std::string::npos;
}

// The pid of a kernel thread, which has no command line and no address space. Its parent is
// kthreadd, or it is kthreadd itself.
pid_t some_kernel_thread() {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && (status_line(pid, "PPid") == "2" || status_line(pid, "Name") == "kthreadd")) {
      return pid;
    }
  }
  return 0;
}

// Traces a process, like a debugger, until it is killed.
class OtherTracer {
 public:
  explicit OtherTracer(pid_t target) : pid_(::fork()) {
    if (pid_ == 0) {
      ::ptrace(PTRACE_SEIZE, target, nullptr, nullptr);
      for (;;) ::pause();
    }
    CHECK(eventually(2s, [&] { return status_line(target, "TracerPid") == std::to_string(pid_); }));
  }
  ~OtherTracer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherTracer(const OtherTracer&) = delete;
  OtherTracer& operator=(const OtherTracer&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("a process whose leader has ended is frozen through its other threads") {
  LiveTarget target("zombie_leader");
  CHECK(state_of(target.pid(), target.pid()) == 'Z');
  for (int round = 0; round < rounds(50, 1000); ++round) {
    const auto report = freeze_once(target.pid(), {}, [&](const FrozenView& view) -> Result<void> {
      CHECK(threads_not_frozen(target.pid()) == 0);
      long held = 0;
      for (const FrozenThread& thread : view.threads) held += thread.registers ? 1 : 0;
      CHECK(held == 2);
      return {};
    });
    REQUIRE_MESSAGE(report.has_value(), why(report));
  }
  const std::int64_t before = target.ask().at("beats");
  CHECK(eventually(2s, [&] { return target.ask().at("beats") > before; }));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process that another traces is refused, and the message names the tracer") {
  LiveTarget target("plain");
  const OtherTracer tracer(target.pid());
  const Refusal refusal = refusal_of(target.pid());
  CHECK(refusal.error.kind == ErrorKind::Traced);
  CHECK_MESSAGE(names(refusal, std::to_string(tracer.pid())), refusal.error.message());
  CHECK(refusal.milliseconds < 1000);
  CHECK(status_line(target.pid(), "TracerPid") == std::to_string(tracer.pid()));
  CHECK(target.ask().at("asked") == 1);
}

TEST_CASE("if another process traces one of its threads, none stays stopped") {
  LiveTarget target("sleeper");
  const pid_t one = threads_of(target.pid()).back();
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    ::ptrace(PTRACE_SEIZE, one, nullptr, nullptr);
    for (;;) ::pause();
  }
  const std::string status =
      "/proc/" + std::to_string(target.pid()) + "/task/" + std::to_string(one) + "/status";
  CHECK(eventually(2s, [&] {
    std::ifstream file(status);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.find("TracerPid:\t" + std::to_string(tracer)) != std::string::npos;
  }));
  const Refusal refusal = refusal_of(target.pid());
  CHECK(refusal.error.kind == ErrorKind::Traced);
  CHECK_MESSAGE(names(refusal, std::to_string(tracer)), refusal.error.message());
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  CHECK(eventually(1s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(target.ask().at("interrupted") == 0);
}

TEST_CASE("a 32-bit process is frozen or refused by name, and unharmed either way") {
  if (!std::filesystem::exists(target_path("plain32"))) {
    print_skip("32-bit programs cannot be built here");
    return;
  }
  if (run_in_shell("exec \"$1\" </dev/null", {target_path("plain32")}).status == 126) {
    return print_skip("no 32-bit programs run here");
  }
  LiveTarget target("plain32");
  for (int round = 0; round < 20; ++round) {
    const auto report = freeze_once(target.pid());
    if (!report) CHECK_MESSAGE(report.error().kind == ErrorKind::Unsupported, why(report));
  }
  const Answer answer = target.ask();
  CHECK(answer.at("asked") == 1);
  CHECK(answer.at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a kernel thread is refused") {
  const pid_t pid = some_kernel_thread();
  if (pid == 0) {
    print_skip("no kernel thread is visible here");
    return;
  }
  const Refusal refusal = refusal_of(pid);
  CHECK(refusal.error.kind == ErrorKind::Unsupported);
  CHECK_MESSAGE(names(refusal, std::to_string(pid)), refusal.error.message());
  CHECK(refusal.milliseconds < 1000);
}

TEST_CASE("heapattach refuses itself") {
  const Refusal refusal = refusal_of(::getpid());
  CHECK(refusal.error.kind == ErrorKind::Unsupported);
  CHECK(status_line(::getpid(), "TracerPid") == "0");
}

TEST_CASE("a process that does not exist, and invalid numbers, are refused") {
  LiveTarget target("plain");
  const pid_t pid = target.pid();
  target.child().signal(SIGKILL);
  REQUIRE(target.child().wait_end(2s).has_value());
  for (const pid_t none : {pid, 0x7fffffff}) {
    const Refusal refusal = refusal_of(none);
    CHECK_MESSAGE(refusal.error.kind == ErrorKind::Gone, refusal.error.message());
  }
  for (const pid_t nonsense : {0, -1, -pid}) {
    const Refusal refusal = refusal_of(nonsense);
    CHECK_MESSAGE(refusal.error.kind == ErrorKind::Unsupported, refusal.error.message());
  }
}

TEST_CASE("a zombie is refused, and left for its parent") {
  const pid_t zombie = ::fork();
  if (zombie == 0) ::_exit(5);
  CHECK(eventually(2s, [&] { return state_of(zombie, zombie) == 'Z'; }));
  const Refusal refusal = refusal_of(zombie);
  const bool is_named = refusal.error.kind == ErrorKind::Gone;
  CHECK_MESSAGE(is_named, refusal.error.message());
  int status = 0;
  CHECK(::waitpid(zombie, &status, 0) == zombie);
  CHECK(WEXITSTATUS(status) == 5);
}

TEST_CASE("the first process of a namespace is frozen like any other") {
  if (::geteuid() != 0) {
    print_skip("making a namespace needs root");
    return;
  }
  ChildProcess shell({"/usr/bin/unshare", "--pid", "--fork", "--kill-child", target_path("plain")});
  const auto greeting = shell.read_line(5s);
  if (greeting.value_or("") != "ready") {
    print_skip("unshare --pid does not work here");
    return;
  }
  std::ifstream children("/proc/" + std::to_string(shell.pid()) + "/task/" +
                         std::to_string(shell.pid()) + "/children");
  pid_t first = 0;
  children >> first;
  REQUIRE(first > 0);
  CHECK(status_line(first, "NSpid").find("\t1") != std::string::npos);
  for (int round = 0; round < 20; ++round) {
    const auto report = freeze_once(first);
    CHECK_MESSAGE(report.has_value(), why(report));
  }
  shell.send_line("report");
  CHECK(shell.read_line(2s).value_or("").find("asked=1 interrupted=0") == 0);
  CHECK(harm_done_to(first) == "");
}

}  // namespace heapattach
