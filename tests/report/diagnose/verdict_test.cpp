#include "report/diagnose/verdict.h"

#include <doctest/doctest.h>

namespace heapattach::diagnose {

namespace {

Evidence seen_threads() {
  Evidence evidence;
  evidence.source = "4711";
  evidence.is_live = true;
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->threads.resize(3);
  return evidence;
}

void add_leak(Evidence& evidence) {
  evidence.leaks = LeaksSeen{
      .rows = {{.type = "Circle", .leaks = 1000, .objects = 1000, .bytes = 48000, .example = 4096}},
      .leaks = 1000,
      .objects = 1000,
      .bytes = 48000};
}

}  // namespace

TEST_CASE("a healthy process is said to be so, with what was looked at") {
  const Verdict verdict = judge(seen_threads());
  CHECK(verdict.kind == "healthy");
  CHECK(verdict.sentence == "nothing wrong was found in 3 threads");
  CHECK_FALSE(verdict.is_fault);
  CHECK(verdict.findings.empty());
  CHECK(verdict.next == "stacks 4711");
}

TEST_CASE("the next command is one that works there") {
  Evidence evidence = seen_threads();
  evidence.objects = 10;
  CHECK(judge(evidence).next == "watch 10s 4711");
  evidence.is_live = false;
  evidence.source = "core";
  CHECK(judge(evidence).next == "suspects core");
  evidence.objects = 0;
  CHECK(judge(evidence).next == "stacks core");
  evidence.stacks->findings = stacks::statements_of({"deadlock: two threads"});
  evidence.source.clear();  // the snapshot came through a pipe
  const Verdict verdict = judge(evidence);
  CHECK(verdict.next.empty());
  CHECK(verdict.findings.at(0).next.empty());
}

TEST_CASE("a file without unreachable objects says that leaks cannot be judged") {
  Evidence evidence = seen_threads();
  evidence.lacks_unreachable = true;
  CHECK(judge(evidence).sentence ==
        "nothing wrong was found in 3 threads; leaks cannot be judged, because the file has only "
        "reachable objects");
}

TEST_CASE("a remark is added to the healthy verdict, and is no fault") {
  Evidence evidence = seen_threads();
  evidence.facts = ProcessFacts{};
  evidence.stacks->remarks =
      stacks::statements_of({"1 thread waits for a lock that thread 9 holds"});
  const Verdict verdict = judge(evidence);
  CHECK(verdict.kind == "healthy");
  CHECK(verdict.sentence ==
        "nothing wrong was found in 3 threads and limits; 1 thread waits for a lock that thread 9 "
        "holds");
  CHECK_FALSE(verdict.is_fault);
  CHECK(verdict.findings.size() == 1);
}

TEST_CASE("what is unusual decides the verdict, but is no fault") {
  Evidence evidence = seen_threads();
  evidence.stacks->threads[1].is_busy = true;
  const Verdict verdict = judge(evidence);
  CHECK(verdict.kind == "busy");
  CHECK_FALSE(verdict.is_fault);
}

TEST_CASE("a fault comes first, and a process that hangs before one that leaks") {
  Evidence evidence = seen_threads();
  evidence.stacks->threads[1].is_busy = true;
  add_leak(evidence);
  CHECK(judge(evidence).kind == "leaking");
  CHECK(judge(evidence).is_fault);
  evidence.stacks->findings = stacks::statements_of({"deadlock: two threads"});
  const Verdict verdict = judge(evidence);
  CHECK(verdict.kind == "deadlock");
  CHECK(verdict.sentence == "deadlock: two threads");
  REQUIRE(verdict.findings.size() == 3);
  CHECK(verdict.findings[1].kind == "leaking");
  CHECK(verdict.findings[2].kind == "busy");
  CHECK(verdict.next == "stacks 4711");
}

TEST_CASE("a process is not called healthy if nothing could be looked at") {
  Evidence evidence;
  evidence.source = "core";
  evidence.not_examined = {"the heap: the core file is cut off"};
  const Verdict verdict = judge(evidence);
  CHECK(verdict.kind == "unknown");
  CHECK(verdict.sentence == "nothing could be looked at");
}

}  // namespace heapattach::diagnose
