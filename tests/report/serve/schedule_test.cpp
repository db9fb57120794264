#include "report/serve/schedule.h"

#include <doctest/doctest.h>
#include <fcntl.h>

namespace heapattach::serve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = Schedule::Time;

const Time kStart = Time(seconds(1'000'000));

// A schedule of two processes, 1 and 2.
Schedule two_processes(milliseconds per_minute = milliseconds(1000)) {
  Schedule schedule(per_minute);
  schedule.update({{1, 10, 4096, "one"}, {2, 20, 4096, "two"}});
  return schedule;
}

Ending report(milliseconds pause) {
  Ending ending;
  ending.pause = pause;
  ending.output = Fd::open("/dev/null", O_RDONLY).value();
  return ending;
}

Ending failure(ExitStatus status) {
  Ending ending;
  ending.status = status;
  ending.message = "it failed";
  return ending;
}

// Asks for a report, runs the next capture, and ends it with `ending`.
std::vector<Answer> run_one(Schedule& schedule, What what, pid_t pid, Ending ending, Time now) {
  REQUIRE_FALSE(schedule.ask(what, pid, 7, now));
  const auto capture = schedule.next(now);
  REQUIRE(capture);
  return schedule.finish(*capture, std::move(ending), now);
}

}  // namespace

TEST_CASE("requests for the same share one capture, and its result while it is fresh") {
  Schedule schedule = two_processes();
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 100, kStart));
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 101, kStart));
  const auto capture = schedule.next(kStart);
  REQUIRE(capture);
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 102, kStart));
  CHECK_FALSE(schedule.next(kStart));
  const auto answers = schedule.finish(*capture, report(milliseconds(5)), kStart);
  REQUIRE(answers.size() == 3);
  CHECK(answers[2].asker == 102);
  CHECK(answers[2].output >= 0);
  CHECK(answers[2].budget_left == milliseconds(995));
  const auto again = schedule.ask(What::Stacks, 1, 103, kStart + seconds(1));
  REQUIRE(again);
  CHECK(again->age == seconds(1));
  CHECK(again->output >= 0);
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 104, kStart + seconds(3)));
  CHECK_FALSE(schedule.ask(What::Diagnosis, 1, 105, kStart));
}

TEST_CASE("a process is looked at once at a time, and two processes at once") {
  Schedule schedule = two_processes();
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 1, kStart));
  CHECK_FALSE(schedule.ask(What::Diagnosis, 1, 2, kStart));
  CHECK_FALSE(schedule.ask(What::Stacks, 2, 3, kStart));
  CHECK(schedule.next(kStart)->pid == 1);
  CHECK(schedule.next(kStart)->pid == 2);
  CHECK_FALSE(schedule.next(kStart));
}

TEST_CASE("no process is stopped beyond its budget") {
  Schedule schedule = two_processes(milliseconds(100));
  run_one(schedule, What::Stacks, 1, report(milliseconds(60)), kStart);
  SUBCASE("what would exceed the rest is not begun") {
    const auto refused = schedule.ask(What::Diagnosis, 1, 2, kStart + seconds(1));
    REQUIRE(refused);
    CHECK(refused->outcome == Outcome::OverBudget);
    CHECK(refused->retry_after > seconds(50));
    CHECK(refused->output == -1);
    CHECK_FALSE(schedule.ask(What::Diagnosis, 2, 3, kStart + seconds(1)));
    CHECK_FALSE(schedule.ask(What::Diagnosis, 1, 4, kStart + seconds(61)));
  }
  SUBCASE("a run may stop the process for no more than is left") {
    Schedule fresh = two_processes(milliseconds(100));
    run_one(fresh, What::Stacks, 1, report(milliseconds(10)), kStart);
    CHECK_FALSE(fresh.ask(What::Diagnosis, 1, 2, kStart));
    CHECK(fresh.next(kStart)->longest_pause == milliseconds(90));
  }
  SUBCASE("counts are answered with the last ones") {
    Schedule counting = two_processes(milliseconds(100));
    run_one(counting, What::Counts, 1, report(milliseconds(60)), kStart);
    counting.drop_old(kStart + seconds(9));
    const auto old = counting.ask(What::Counts, 1, 2, kStart + seconds(10));
    REQUIRE(old);
    CHECK(old->outcome == Outcome::Finished);
    CHECK(old->age == seconds(10));
    CHECK(old->output >= 0);
  }
}

TEST_CASE("a run that failed without a word may have stopped the process as long as allowed") {
  Schedule schedule = two_processes(milliseconds(100));
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 1, kStart));
  const auto capture = schedule.next(kStart);
  schedule.finish(*capture, failure(ExitStatus::Timeout), kStart + milliseconds(70));
  CHECK(schedule.accounts()[0].pause == milliseconds(70));
  CHECK(schedule.accounts()[0].failures == 1);
  run_one(schedule, What::Stacks, 2, failure(ExitStatus::Denied), kStart);
  CHECK(schedule.accounts()[1].pause == milliseconds(0));
}

TEST_CASE("a process whose heap cannot be read is not counted again at once") {
  Schedule schedule = two_processes();
  run_one(schedule, What::Counts, 1, failure(ExitStatus::NoHeap), kStart);
  const auto again = schedule.ask(What::Counts, 1, 2, kStart + seconds(30));
  REQUIRE(again);
  CHECK(again->status == ExitStatus::NoHeap);
  CHECK(again->message == "it failed");
  CHECK_FALSE(schedule.ask(What::Counts, 1, 3, kStart + seconds(90)));
}

TEST_CASE("a later process with the same pid gets a new account and no old result") {
  Schedule schedule = two_processes(milliseconds(100));
  run_one(schedule, What::Counts, 1, report(milliseconds(100)), kStart);
  schedule.update({{1, 11, 4096, "later"}});
  CHECK(schedule.accounts()[0].pause == milliseconds(0));
  CHECK_FALSE(schedule.ask(What::Counts, 1, 2, kStart));
  CHECK(schedule.ask(What::Counts, 2, 3, kStart)->outcome == Outcome::NoSuchPid);
}

TEST_CASE("those who ask for a recording while it runs share it, whatever its length") {
  Schedule schedule = two_processes();
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 100, kStart, seconds(30)));
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 101, kStart, seconds(10)));
  const auto recording = schedule.next(kStart);
  REQUIRE(recording);
  CHECK(recording->length == seconds(30));
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 102, kStart, seconds(5)));
  CHECK_FALSE(schedule.next(kStart));
  CHECK(schedule.finish(*recording, report(milliseconds(5)), kStart).size() == 3);
  CHECK(schedule.accounts()[0].pause == milliseconds(5));
  // Once it has ended, it only answers requests for a recording of the same length.
  CHECK(schedule.ask(What::Allocations, 1, 103, kStart, seconds(30)));
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 104, kStart, seconds(10)));
}

TEST_CASE("recordings and other captures do not wait for each other") {
  Schedule schedule = two_processes();
  schedule.update({{1, 10, 0, "one"}, {2, 20, 0, "two"}, {3, 30, 0, "three"}});
  for (const pid_t pid : {1, 2, 3}) {
    CHECK_FALSE(schedule.ask(What::Allocations, pid, 1, kStart, seconds(10)));
    CHECK_FALSE(schedule.ask(What::Counts, pid, 2, kStart));
  }
  std::vector<std::pair<pid_t, bool>> running;
  while (const auto capture = schedule.next(kStart)) {
    running.emplace_back(capture->pid, is_recording(capture->what));
  }
  CHECK(running ==
        std::vector<std::pair<pid_t, bool>>{{1, true}, {1, false}, {2, true}, {2, false}});
}

TEST_CASE("a recording is ended when the last who asked for it is gone, and answers nobody else") {
  Schedule schedule = two_processes();
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 100, kStart, seconds(10)));
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 101, kStart, seconds(10)));
  CHECK_FALSE(schedule.ask(What::Counts, 1, 102, kStart));
  const auto recording = schedule.next(kStart);
  REQUIRE(schedule.next(kStart));
  CHECK(schedule.forget(100).empty());
  CHECK(schedule.forget(102).empty());  // a count without an asker continues
  const auto ended = schedule.forget(101);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].is_like(*recording));
  CHECK(schedule.forget(101).empty());
  // The next request waits until that recording is over, and does not get its result.
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 103, kStart, seconds(10)));
  CHECK_FALSE(schedule.next(kStart));
  CHECK(schedule.finish(*recording, report(milliseconds(5)), kStart).empty());
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 104, kStart, seconds(10)));
  const auto next = schedule.next(kStart);
  REQUIRE(next);
  CHECK(next->what == What::Allocations);
  CHECK(schedule.finish(*next, report(milliseconds(5)), kStart).size() == 2);
}

TEST_CASE("what a recording has stopped a process says nothing of other captures") {
  Schedule schedule = two_processes(milliseconds(100));
  run_one(schedule, What::Allocations, 1, report(milliseconds(60)), kStart);
  CHECK(schedule.ask(What::Allocations, 1, 2, kStart + seconds(5)));
  CHECK_FALSE(schedule.ask(What::Stacks, 1, 3, kStart + seconds(5)));
}

TEST_CASE("a recording that has not begun is not begun for nobody") {
  Schedule schedule = two_processes();
  CHECK_FALSE(schedule.ask(What::Allocations, 1, 100, kStart, seconds(10)));
  CHECK(schedule.forget_all().empty());
  CHECK_FALSE(schedule.next(kStart));
  CHECK(schedule.waiting() == 0);
}

TEST_CASE("nothing grows without a bound") {
  Schedule schedule(milliseconds(1000));
  std::vector<ServedProcess> many;
  for (pid_t pid = 1; pid <= 100; ++pid) many.push_back({pid, 1, 0, "x"});
  schedule.update(many);
  CHECK(schedule.accounts().size() == kMostProcesses);
  CHECK(schedule.left_out() == 100 - kMostProcesses);
  std::size_t refused = 0;
  for (const What what : {What::Stacks, What::Diagnosis, What::Snapshot}) {
    for (pid_t pid = 1; pid <= 64; ++pid) {
      const auto answer = schedule.ask(what, pid, 1, kStart);
      if (answer && answer->outcome == Outcome::Busy) ++refused;
    }
  }
  CHECK(refused == 3 * 64 - kMostWaiting);
  while (const auto capture = schedule.next(kStart)) {
    schedule.finish(*capture, report(milliseconds(1)), kStart);
  }
  schedule.drop_old(kStart + seconds(10));
  CHECK(schedule.waiting() == 0);
}

}  // namespace heapattach::serve
