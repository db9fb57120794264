#include <doctest/doctest.h>

#include "report/stacks/diagnosis.h"

using namespace heapattach;
using namespace heapattach::stacks;

namespace {

ThreadSeen thread(pid_t tid, std::optional<std::size_t> waits_for = {}) {
  ThreadSeen seen;
  seen.tid = tid;
  seen.waits_for = waits_for;
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
  const auto findings = diagnose(report);
  return findings.empty() ? "" : findings.front();
}

}  // namespace

TEST_CASE("threads that wait for each other's mutexes are called a deadlock, with the cycle") {
  StackReport report;
  report.threads = {thread(10, 1), thread(11, 2), thread(12, 0), thread(13, 0), thread(14)};
  CHECK(first_of(report) ==
        "deadlock: thread 10 waits for a mutex of thread 11, which waits for a mutex of thread 12, "
        "which waits for a mutex of thread 10");
  CHECK(diagnose(report).size() == 1);
}

TEST_CASE("a thread that waits for its own mutex is a deadlock") {
  StackReport report;
  report.threads = {thread(10, 0)};
  CHECK(first_of(report) == "deadlock: thread 10 waits for a mutex that it holds itself");
}

TEST_CASE("threads that wait for one that goes on are no deadlock, and who it is is said") {
  StackReport report;
  report.threads = {thread(10, 2), thread(11, 2), thread(12)};
  report.threads[2].call = "nanosleep(10 s)";
  CHECK(first_of(report) ==
        "waiting: 2 threads for a mutex of thread 12, which is in nanosleep(10 s)");
}

TEST_CASE("owners beyond what there is lead nowhere") {
  StackReport report;
  report.fibers = {fiber("a", WaitKind::Mutex)};
  report.fibers[0].wait.owner = 7;
  report.threads = {thread(1)};
  CHECK(first_of(report).starts_with("deadlock: the only fiber waits for channels or mutexes"));
  CHECK(first_of(report).find(" of fiber") == std::string::npos);
}

TEST_CASE("fibers that wait for each other's mutexes are a deadlock") {
  StackReport report;
  report.fibers = {fiber("a", WaitKind::Mutex), fiber("b", WaitKind::Mutex)};
  report.fibers[0].wait.owner = 1;
  report.fibers[1].wait.owner = 0;
  CHECK(first_of(report) ==
        "deadlock: fiber \"a\" waits for a mutex of fiber \"b\", which waits for a mutex of fiber "
        "\"a\"");
}

TEST_CASE("fibers that all wait for one channel are a deadlock") {
  StackReport report;
  report.fibers = {fiber("a", WaitKind::Receive, 0x1000), fiber("b", WaitKind::Receive, 0x1000),
                   fiber("Signal Loop", WaitKind::Read)};
  report.fibers[2].is_of_runtime = true;
  CHECK(first_of(report) ==
        "deadlock: each of all 2 fibers waits to receive from Channel(Int32) 0x1000, and nobody is "
        "left to send");

  SUBCASE("not if one of them may still be woken by another than a fiber") {
    report.fibers.push_back(fiber("c", WaitKind::Sleep));
    CHECK(first_of(report).starts_with("waiting: 2 of 3 fibers for other fibers: fiber \"a\""));
  }
  SUBCASE("not if one of them waits for a limited time") {
    report.fibers[1].wait.left = std::chrono::milliseconds(5);
    CHECK(diagnose(report).empty());
  }
  SUBCASE("also if they wait for different ones") {
    report.fibers[1].wait.object = RemoteAddr{0x2000};
    CHECK(first_of(report).starts_with("deadlock: all 2 fibers wait for channels or mutexes"));
  }
}

TEST_CASE("most fibers at one channel are named once") {
  StackReport report;
  for (int i = 0; i < 5; ++i) report.fibers.push_back(fiber("w", WaitKind::Send, 0x1000));
  report.fibers.push_back(fiber("s", WaitKind::Sleep));
  CHECK(first_of(report) ==
        "waiting: each of 5 fibers of 6 waits to send to Channel(Int32) 0x1000");
}

TEST_CASE("a fiber that does not let go of its processor is named with its function") {
  StackReport report;
  report.fibers = {fiber("spinner", WaitKind::Running), fiber("idle", WaitKind::Sleep)};
  report.fibers[0].thread = 0;
  report.threads = {thread(10)};
  report.threads[0].fiber = 0;
  report.threads[0].is_busy = true;
  report.threads[0].stack.frames.emplace_back().function = "spin";
  CHECK(first_of(report) ==
        "busy: fiber \"spinner\", on thread 10, does not let go of its processor, in spin; 1 fiber "
        "cannot run there meanwhile");
}

TEST_CASE("a program that waits for its clients has nothing wrong") {
  StackReport report;
  report.threads = {thread(10)};
  report.threads[0].load = 0.99;
  report.fibers = {fiber("acceptor", WaitKind::Read), fiber("main", WaitKind::Sleep)};
  CHECK(diagnose(report).empty());
  CHECK(diagnose({}).empty());
}
