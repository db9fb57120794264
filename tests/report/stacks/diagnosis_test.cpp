#include "report/stacks/diagnosis.h"

#include <doctest/doctest.h>

namespace heapattach::stacks {

namespace {

ThreadSeen thread(pid_t tid, std::optional<std::size_t> waits_for = {}) {
  ThreadSeen seen;
  seen.tid = tid;
  seen.wait.thread = waits_for;
  return seen;
}

FiberSeen fiber(const std::string& name, WaitKind kind, std::uint64_t object = 0) {
  FiberSeen seen;
  seen.name = name;
  seen.wait.kind = kind;
  seen.wait.object = RemoteAddr{object};
  seen.wait.type = "Channel(Int32)";
  return seen;
}

std::string first_of(const StackReport& report) {
  const auto findings = diagnose(report).findings;
  return findings.empty() ? "" : findings.front().text;
}

std::string remark_of(const StackReport& report) {
  const Diagnosis diagnosis = diagnose(report);
  CHECK(diagnosis.findings.empty());
  return diagnosis.remarks.empty() ? "" : diagnosis.remarks.front().text;
}

// A report on a program that is known to handle no signals.
StackReport report_of(std::vector<FiberSeen> fibers) {
  StackReport report;
  report.caught_signals = 0;
  report.fibers = std::move(fibers);
  return report;
}

}  // namespace

TEST_CASE("threads that wait for each other's mutexes are called a deadlock, with the cycle") {
  StackReport report;
  report.threads = {thread(10, 1), thread(11, 2), thread(12, 0), thread(13, 0), thread(14)};
  report.threads[0].function = "transfer (bank.c:40)";
  report.threads[1].wait.mutex = "audit_lock";
  CHECK(first_of(report) ==
        "deadlock: thread 10 in transfer (bank.c:40) waits for a mutex, which thread 11 holds; "
        "thread 11 waits for audit_lock, which thread 12 holds; thread 12 waits for a mutex, which "
        "thread 10 holds");
  CHECK(diagnose(report).findings.size() == 1);
  CHECK(diagnose(report).finding_of_thread ==
        std::map<std::size_t, std::size_t>{{0, 0}, {1, 0}, {2, 0}});
}

TEST_CASE("threads of Mono that wait for a pulse of the same object are named together") {
  StackReport report;
  report.threads = {thread(10), thread(11), thread(12)};
  report.threads[0].wait.kind = snapshot::ThreadWaitKind::Pulse;
  report.threads[0].wait.mutex = "a pulse of Game.Queue 0x7f10";
  CHECK(remark_of(report) == "thread 10 waits for a pulse of Game.Queue 0x7f10 (Monitor.Wait)");
  report.threads[2].function = "Game.Worker.Run";
  report.threads[2].wait = report.threads[0].wait;
  CHECK(remark_of(report) ==
        "2 threads wait for a pulse of Game.Queue 0x7f10 (Monitor.Wait), such as thread 10");
  SUBCASE("and so is what one of them holds up") {
    report.threads[1].wait.thread = 2;
    CHECK(remark_of(report) ==
          "1 thread waits for a lock that thread 12 in Game.Worker.Run holds, which waits for a "
          "pulse of Game.Queue 0x7f10");
  }
  SUBCASE("but are not mentioned beside a deadlock") {
    report.threads[1].wait.thread = 1;
    CHECK(diagnose(report).findings.size() == 1);
    CHECK(diagnose(report).remarks.empty());
  }
}

TEST_CASE("a thread that waits for its own mutex is a deadlock") {
  StackReport report;
  report.threads = {thread(10, 0)};
  CHECK(first_of(report) == "deadlock: thread 10 waits for a mutex, which it already holds");
}

TEST_CASE("threads that wait for a running thread are not a deadlock, and that thread is named") {
  StackReport report;
  report.threads = {thread(10, 2), thread(11, 2), thread(12)};
  report.threads[2].wait.call = "nanosleep(10 s)";
  CHECK(remark_of(report) ==
        "2 threads wait for a lock that thread 12 holds, which is in nanosleep(10 s)");
}

TEST_CASE("owners that do not exist are ignored") {
  StackReport report = report_of({fiber("a", WaitKind::Mutex)});
  report.fibers[0].wait.owner = 7;
  report.threads = {thread(1)};
  CHECK(first_of(report).starts_with("deadlock: the only fiber waits, and nobody is left"));
  CHECK(first_of(report).find(", which fiber") == std::string::npos);
}

TEST_CASE("a mutex whose owner ended is a remark") {
  StackReport report;
  report.threads = {thread(10)};
  report.threads[0].gone_owner = 12;
  report.threads[0].wait.mutex = "db.mu";
  const Diagnosis diagnosis = diagnose(report);
  CHECK(diagnosis.findings.empty());
  REQUIRE(diagnosis.remarks.size() == 1);
  CHECK(diagnosis.remarks[0].text.find("waits for the mutex db.mu, which thread 12 locked; this "
                                       "process has no such thread") != std::string::npos);
}

TEST_CASE("fibers that wait for each other's mutexes are a deadlock, with functions and locks") {
  StackReport report =
      report_of({fiber("a", WaitKind::Mutex), fiber("b", WaitKind::Mutex, 0x2000)});
  report.fibers[0].wait.owner = 1;
  report.fibers[0].wait.holder = "Blog::LOCK_A";
  report.fibers[0].function = "Blog::publish";
  report.fibers[1].wait.owner = 0;
  report.fibers[1].wait.type = "Mutex";
  CHECK(first_of(report) ==
        "deadlock: fiber \"a\" in Blog::publish waits for Blog::LOCK_A, which fiber \"b\" holds; "
        "fiber \"b\" waits for Mutex 0x2000, which fiber \"a\" holds");
  // A sleeping fiber does not change that.
  report.fibers.push_back(fiber("c", WaitKind::Sleep));
  CHECK(first_of(report).starts_with("deadlock: fiber \"a\""));
}

TEST_CASE("a fiber that waits for a mutex of a running fiber is a remark") {
  StackReport report = report_of({fiber("a", WaitKind::Mutex), fiber("b", WaitKind::Sleep)});
  report.fibers[0].wait.owner = 1;
  report.fibers[0].wait.holder = "Account@lock";
  report.fibers[1].wait.left = std::chrono::milliseconds(9500);
  CHECK(remark_of(report) ==
        "fiber \"a\" waits for Account@lock, which fiber \"b\" holds, which sleeps, 9.5 s left");
}

TEST_CASE("fibers that all wait for one channel are a deadlock") {
  StackReport report =
      report_of({fiber("a", WaitKind::Receive, 0x1000), fiber("b", WaitKind::Receive, 0x1000),
                 fiber("Signal Loop", WaitKind::Read)});
  report.fibers[2].is_of_runtime = true;
  CHECK(first_of(report) ==
        "deadlock: all 2 fibers wait to receive from Channel(Int32) 0x1000, and nobody is "
        "left to send");

  SUBCASE("even if they wait for different ones") {
    report.fibers[1].wait.object = RemoteAddr{0x2000};
    CHECK(
        first_of(report).starts_with("deadlock: all 2 fibers wait for others, and nobody is left"));
  }
  SUBCASE("even if one has ended, and a thread looks for another on its stack") {
    report.fibers.push_back(fiber("c", WaitKind::Ended));
    CHECK(
        first_of(report).starts_with("deadlock: all 2 fibers wait to receive from Channel(Int32)"));
  }
  SUBCASE("even if a fiber of the library waits with them") {
    report.fibers.push_back(fiber("dispatcher", WaitKind::Receive, 0x3000));
    report.fibers.back().is_own = false;
    CHECK(
        first_of(report).starts_with("deadlock: all 2 fibers wait to receive from Channel(Int32)"));
  }
  SUBCASE("not if something other than a fiber may still wake one of them") {
    for (const WaitKind kind :
         {WaitKind::Sleep, WaitKind::SleepForever, WaitKind::Read, WaitKind::Write,
          WaitKind::Accept, WaitKind::Connect, WaitKind::Io, WaitKind::Process, WaitKind::Resolve,
          WaitKind::Thread, WaitKind::Running, WaitKind::Ready, WaitKind::NotStarted,
          WaitKind::Unknown}) {
      CAPTURE(static_cast<int>(kind));
      StackReport with = report;
      with.fibers.push_back(fiber("c", kind));
      CHECK(first_of(with) == "");
      CHECK(remark_of(with) == "");  // an idle service looks like this
      // A fiber of the library, such as one that accepts connections, may wake others, too.
      with.fibers.back().is_own = false;
      CHECK(first_of(with) == "");
      CHECK(remark_of(with) == "");
    }
  }
  SUBCASE("not if one of them waits for a limited time") {
    report.fibers[1].wait.left = std::chrono::milliseconds(5);
    CHECK(remark_of(report) == "");
  }
  SUBCASE("not if one of them may wait for a limited time") {
    report.fibers[1].wait.may_have_limit = true;
    CHECK(remark_of(report) == "");
  }
  SUBCASE("not if the handler of a signal may wake them") {
    report.caught_signals = 1U << 14U;
    CHECK(remark_of(report).starts_with(
        "only the handler of SIGTERM can wake a fiber: 2 fibers wait "));
    report.caught_signals.reset();  // unknown, as for a core file
    CHECK(remark_of(report).starts_with("only the handler of a signal, if there is one, can wake"));
  }
}

TEST_CASE("a channel to which many wait to send is named once") {
  StackReport report = report_of({});
  for (int i = 0; i < 5; ++i) report.fibers.push_back(fiber("w", WaitKind::Send, 0x1000));
  for (int i = 0; i < 9; ++i) report.fibers.push_back(fiber("r", WaitKind::Receive, 0x2000));
  report.fibers.push_back(fiber("s", WaitKind::Sleep));
  CHECK(remark_of(report) ==
        "5 of 15 fibers wait to send to Channel(Int32) 0x1000, and none waits to receive from it");
}

TEST_CASE("a fiber that does not yield the CPU is reported with its function") {
  StackReport report;
  report.fibers = {fiber("spinner", WaitKind::Running), fiber("idle", WaitKind::Sleep)};
  report.fibers[0].thread = 0;
  report.threads = {thread(10)};
  report.threads[0].fiber = 0;
  report.threads[0].is_busy = true;
  report.places.emplace_back().at.function = "spin";
  report.stacks.emplace_back().frames = {{0, {}}};
  report.threads[0].stack = 0;
  CHECK(first_of(report) ==
        "busy: fiber \"spinner\", on thread 10, does not yield the CPU, in spin; 1 fiber cannot "
        "run there meanwhile");
}

TEST_CASE("a thread of io_uring that looks for requests all the time is as it should be") {
  StackReport report;
  report.threads = {thread(10)};
  report.threads[0].is_busy = true;
  CHECK_FALSE(first_of(report).empty());
  report.threads[0].is_of_kernel = true;
  CHECK(first_of(report).empty());
}

TEST_CASE("nothing is wrong with a program that waits for its clients") {
  StackReport report;
  report.threads = {thread(10)};
  report.threads[0].load = 0.99;
  report.fibers = {fiber("acceptor", WaitKind::Accept), fiber("main", WaitKind::Receive, 0x1000)};
  report.fibers[0].is_own = false;
  CHECK(remark_of(report) == "");
  CHECK(remark_of({}) == "");
}

}  // namespace heapattach::stacks
