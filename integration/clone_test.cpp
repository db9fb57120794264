// HAZARDS A1, A2, A6, A7, B5 to B8, D6: what a target notices of clones, and what they leave.

#include <csignal>
#include <cstdlib>
#include <set>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/memory/live_memory.h"
#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

const std::vector<std::string> borrowed_threads{"main",      "computing", "napping", "events",
                                                "condition", "handler",   "waiting"};

void check_unharmed(LiveTarget& target) {
  const Answer answer = target.ask();
  CHECK(answer.at("damaged") == 0);
  CHECK(answer.at("errno_lost") == 0);
  CHECK(answer.at("interrupted") == 0);
  CHECK(answer.at("early") == 0);
  CHECK(answer.at("children") == 0);
  CHECK(answer.at("talk") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

pid_t thread_named(const LiveTarget& target, const std::string& name) {
  return static_cast<pid_t>(target.greeting().at(name));
}

}  // namespace

TEST_CASE("a pipeline loses, doubles and interrupts nothing under clones, which leave nothing") {
  LiveTarget target("pipeline");
  const Traces before = traces_of(target.pid());
  const int clones = rounds(300, 10'000);
  std::vector<double> pauses;
  CloneOptions options;
  // Enough even on a busy machine.
  options.freeze.budget = options.freeze.thread_deadline = 30s;
  for (int i = 0; i < clones; ++i) {
    const auto report = clone_once(target.pid(), options);
    REQUIRE_MESSAGE(report.has_value(), why(report));
    CHECK(report->threads.size() == 11);
    pauses.push_back(in_milliseconds(report->pause));
  }
  CHECK(difference(before, traces_of(target.pid())) == "");
  const Answer answer = target.ask("stop");
  print_figure(fmt::format(
      "A1, D6: {} clones, pause {}; {} items, lost {}, doubled {}, interrupted {}, early {}",
      clones, spread_of(pauses), answer.at("produced"), answer.at("lost"), answer.at("doubled"),
      answer.at("interrupted"), answer.at("early")));
  for (const char* count : {"lost", "doubled", "bad", "interrupted", "cut_short", "early"}) {
    CHECK_MESSAGE(answer.at(count) == 0, count);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a thread in any state is borrowed and restored") {
  LiveTarget target("borrowed");
  const Traces before = traces_of(target.pid());
  const int clones = rounds(20, 1000);
  for (const std::string& name : borrowed_threads) {
    CloneOptions options;
    options.borrow = thread_named(target, name);
    for (int i = 0; i < clones; ++i) {
      const auto report = clone_once(target.pid(), options);
      REQUIRE_MESSAGE(report.has_value(), name, ": ", why(report));
    }
    check_unharmed(target);
  }
  CHECK(difference(before, traces_of(target.pid())) == "");
  const Answer first = target.ask();
  CHECK(eventually(5s, [&] {
    const Answer now = target.ask();
    return now.at("beats") > first.at("beats") && now.at("naps") > first.at("naps") &&
           now.at("handled") > first.at("handled");
  }));
}

TEST_CASE("a clone holds no file of its target, and its parent's wait does not see it") {
  LiveTarget target("borrowed");
  const auto report = clone_once(target.pid(), {}, [&](const Clone& clone) -> Result<void> {
    CHECK(open_files(clone.process().pid()).empty());
    const auto state = HA_TRY(clone.process().thread_state(clone.process().pid()));
    CHECK(state.name == "heapattach-copy");
    CHECK(state.state == 't');
    const Fd score = HA_TRY(clone.process().open_file("oom_score_adj", 0));
    CHECK(HA_TRY(read_all(score, 16)) == "1000\n");
    CHECK(threads_not_frozen(target.pid()) == 7);
    return {};
  });
  REQUIRE_MESSAGE(report.has_value(), why(report));
  check_unharmed(target);
}

TEST_CASE("a thread in a restartable sequence begins it again after each clone") {
  LiveTarget target("restartable");
  if (target.greeting().at("registered") == 0) {
    print_skip("this system's C library registers no area for restartable sequences");
    return;
  }
  CloneOptions options;
  options.borrow = static_cast<pid_t>(target.greeting().at("tid"));
  const int clones = rounds(100, 1000);
  for (int i = 0; i < clones; ++i) {
    const std::int64_t before = target.ask().at("aborted");
    const auto report = clone_once(target.pid(), options);
    REQUIRE_MESSAGE(report.has_value(), why(report));
    CHECK(target.ask().at("aborted") > before);
  }
  CHECK(target.ask().at("committed") == 0);
  target.ask("commit");
  CHECK(eventually(5s, [&] { return target.ask().at("committed") == 1; }));
  print_figure(fmt::format("B6: {} clones in a restartable sequence, none committed", clones));
}

TEST_CASE("20,000 queued signals arrive exactly once, with clones between them") {
  constexpr std::int64_t kSignals = 20'000;
  LiveTarget target("signaller");
  target.child().send_line("send " + std::to_string(kSignals));
  target.read_line();
  int clones = 0;
  Answer answer;
  do {
    for (int round = 0; round < 20; ++round) {
      const auto report = clone_once(target.pid());
      REQUIRE_MESSAGE(report.has_value(), why(report));
      ++clones;
    }
    answer = target.ask();
  } while (answer.at("sending") != 0 && clones < 100'000);
  CHECK(eventually(5s, [&] { return target.ask().at("handled") == kSignals; }));
  answer = target.ask();
  print_figure(fmt::format("A6: {} queued signals during {} clones: {} distinct, {} doubled",
                           kSignals, clones, answer.at("distinct"), answer.at("doubled")));
  CHECK(answer.at("distinct") == kSignals);
  CHECK(answer.at("doubled") == 0);
  CHECK(answer.at("strange") == 0);
  CHECK(answer.at("damaged") == 0);
  CHECK(children_of(target.pid()).size() <= 1);  // the target's own sender, until it is reaped
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a stopped target is cloned and stays stopped, unknown to its parent") {
  LiveTarget target("sleeper");
  const auto is_stopped = [&] {
    for (const pid_t tid : threads_of(target.pid())) {
      if (state_of(target.pid(), tid) != 'T') return false;
    }
    return true;
  };
  target.child().signal(SIGSTOP);
  REQUIRE(eventually(2s, is_stopped));
  siginfo_t news{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(target.pid()), &news, WSTOPPED | WNOHANG) == 0);
  for (int i = 0; i < rounds(20, 500); ++i) {
    const auto report = clone_once(target.pid());
    REQUIRE_MESSAGE(report.has_value(), why(report));
    REQUIRE(eventually(1s, is_stopped));
    news = {};
    CHECK(::waitid(P_PID, static_cast<id_t>(target.pid()), &news, WCONTINUED | WNOHANG) == 0);
    CHECK(news.si_pid == 0);
  }
  target.child().signal(SIGCONT);
  CHECK(eventually(2s, [&] { return harm_done_to(target.pid()).empty(); }));
  CHECK(target.ask().at("early") == 0);
  CHECK(children_of(target.pid()).empty());
}

TEST_CASE(
    "of 54 blocking calls a clone disturbs only those that a freeze does, whichever it borrows") {
  static const std::set<std::string> documented{
      "epoll_wait-timed",      "epoll_pwait2-timed", "recv-rcvtimeo",      "accept-rcvtimeo",
      "rt_sigtimedwait-timed", "semtimedop-timed",   "io_getevents-timed", "write-much-to-pipe",
      "write-much-to-socket",  "recv-waitall"};
  LiveTarget target("blockers");
  const auto rows = target.greeting().at("rows");
  REQUIRE(rows == 54);
  const auto ask_rows = [&](const auto& take) {
    target.child().send_line("rows");
    for (std::int64_t i = 0; i < rows; ++i) {
      char name[64] = {};
      int tid = 0;
      int ended = 0;
      long result = 0;
      int error = 0;
      long elapsed_us = 0;
      long due_us = 0;
      const std::string line = target.read_line();
      REQUIRE(std::sscanf(line.c_str(),
                          "%63s tid=%d ended=%d result=%ld errno=%d elapsed_us=%ld due_us=%ld",
                          name, &tid, &ended, &result, &error, &elapsed_us, &due_us) == 7);
      take(std::string(name), tid, ended != 0, error, elapsed_us, due_us);
    }
  };
  std::vector<pid_t> threads;
  ask_rows([&](const std::string&, int tid, bool, int, long, long) { threads.push_back(tid); });
  std::size_t refused = 0;
  for (const pid_t tid : threads) {
    CloneOptions options;
    options.borrow = tid;
    const auto report = clone_once(target.pid(), options);
    // A thread that the collector keeps stopped is not borrowed.
    if (!report) CHECK_MESSAGE(report.error().kind == ErrorKind::Impossible, why(report));
    if (!report) ++refused;
  }
  std::this_thread::sleep_for(2s);
  int disturbed = 0;
  ask_rows([&](const std::string& name, int, bool ended, int error, long elapsed_us, long due_us) {
    CHECK_MESSAGE(error < 512, name, ": errno ", error);
    const bool is_early = due_us > 0 && ended && elapsed_us < due_us - 1000;
    const bool is_disturbed = error == EINTR || is_early || (due_us == 0 && ended);
    disturbed += is_disturbed ? 1 : 0;
    CHECK_MESSAGE((!is_disturbed || documented.count(name) > 0), name, ": errno ", error,
                  " after us ", elapsed_us);
  });
  print_figure(fmt::format("A2: {} of {} calls disturbed by {} clones, {} threads not borrowed",
                           disturbed, rows, threads.size() - refused, refused));
  CHECK(refused <= 2);
  CHECK(harm_done_to(target.pid()) == "");
}

}  // namespace heapattach
