#include "attach/stop/frozen_process.h"

#include <cerrno>
#include <csignal>

#include <doctest/doctest.h>
#include <sys/syscall.h>

#include "tests/fakes/scripted_tracer.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

using Kind = TraceEvent::Kind;

ThreadListing whole(std::vector<pid_t> tids) {
  return {std::move(tids), true};
}

RawRegisters interrupted_epoll_wait() {
  RawRegisters at_stop{};
  at_stop.orig_rax = SYS_epoll_wait;
  at_stop.rax = static_cast<unsigned long long>(-EINTR);
  at_stop.r10 = static_cast<unsigned long long>(-1);
  at_stop.rip = 0x1002;
  return at_stop;
}

std::vector<pid_t> tids_of(const FrozenProcess& frozen) {
  std::vector<pid_t> tids;
  for (const FrozenThread& thread : frozen.threads()) tids.push_back(thread.tid);
  return tids;
}

}  // namespace

TEST_CASE("all threads are held until the frozen process ends") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2, 3})};
  {
    const auto frozen = FrozenProcess::freeze(tracer, {});
    REQUIRE(frozen);
    CHECK(tids_of(*frozen) == std::vector<pid_t>{1, 2, 3});
    CHECK(frozen->threads()[0].registers);
    CHECK(frozen->passes() == 2);
    CHECK(tracer.still_traced() == std::set<pid_t>{1, 2, 3});
  }
  CHECK(tracer.still_traced().empty());
}

TEST_CASE("listings repeat until a complete one shows no new thread") {
  ScriptedTracer tracer;
  SUBCASE("new threads in two of them") {
    tracer.listings = {whole({1}), whole({1, 2}), whole({1, 2, 3})};
  }
  SUBCASE("an incomplete one in between") {
    tracer.listings = {whole({1, 2}), ThreadListing{{1}, false}, whole({1, 2, 3})};
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == std::vector<pid_t>{1, 2, 3});
  CHECK(tracer.listings_made == 4);
}

TEST_CASE("a thread that vanishes from the listing does not make up for one that was missed") {
  ScriptedTracer tracer;
  // Thread 3 is missing in the second listing, and thread 2 is about to end, so the number of
  // threads is right by accident.
  tracer.listings = {whole({1}), whole({1, 2}), whole({1, 3})};
  SUBCASE("it has ended") {
    tracer.script[2].has_ended = true;
  }
  SUBCASE("it is not reaped yet") {
    tracer.script[2].state = 'Z';
  }
  SUBCASE("it ends when it is about to be seized") {
    tracer.script[2].seize_failure = Error{ErrorKind::Gone, "exiting", ESRCH};
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == std::vector<pid_t>{1, 3});
}

TEST_CASE("a first thread that ended long ago needs no further listings") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2})};
  tracer.script[1].state = 'Z';
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == std::vector<pid_t>{2});
  CHECK(tracer.listings_made == 2);
}

TEST_CASE("listings that never become complete are accepted in the end") {
  ScriptedTracer tracer;
  tracer.listings = {ThreadListing{{1, 2}, false}};
  CHECK(FrozenProcess::freeze(tracer, {}));
  CHECK(tracer.listings_made < 10);
}

TEST_CASE("a thread that ends before it can be held is left out") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2}), whole({1})};
  SUBCASE("before it is seized") {
    tracer.script[2].seize_failure = Error{ErrorKind::Gone, "exiting", ESRCH};
  }
  SUBCASE("while it is stopped") {
    tracer.script[2].ends_when_interrupted = true;
  }
  SUBCASE("already when it is listed") {
    tracer.script[2].state = 'Z';
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == std::vector<pid_t>{1});
}

TEST_CASE("the id of a thread that ended may be reused by a new thread") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2}), whole({1, 2})};
  tracer.script[2].events = {{.kind = Kind::Ended}};
  tracer.script[2].is_reborn = true;
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == std::vector<pid_t>{1, 2});
}

TEST_CASE("a failed freeze leaves no thread traced") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2, 3})};
  ErrorKind expected = ErrorKind::Denied;
  SUBCASE("one may not be traced") {
    tracer.script[2].seize_failure = Error{ErrorKind::Denied, "no", EPERM};
  }
  SUBCASE("one is traced by another") {
    tracer.script[3].seize_failure = Error{ErrorKind::Traced, "gdb", EPERM};
    expected = ErrorKind::Traced;
  }
  SUBCASE("a signal was pending when another thread failed") {
    tracer.script[1].events = {{.kind = Kind::Signal, .signal = SIGUSR1}};
    tracer.script[3].register_failure = Error{ErrorKind::Gone, "killed", ESRCH};
    expected = ErrorKind::Gone;
  }
  SUBCASE("another program began") {
    tracer.script[1].events = {{.kind = Kind::Executed}};
    expected = ErrorKind::Gone;
  }
  SUBCASE("the second listing fails") {
    tracer.listing_failure = Error{ErrorKind::Os, "no memory", ENOMEM};
    expected = ErrorKind::Os;
  }
  SUBCASE("32-bit code") {
    tracer.script[2].register_failure = Error{ErrorKind::Unsupported, "32-bit"};
    expected = ErrorKind::Unsupported;
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE_FALSE(frozen);
  CHECK(frozen.error().kind == expected);
  // A thread that was seized but not yet asked to stop keeps running. It is released by the end of
  // the tracing thread.
  for (const pid_t tid : tracer.still_traced()) {
    CHECK_FALSE(tracer.script[tid].is_still);
    CHECK_FALSE(tracer.script[tid].is_interrupted);
  }
  for (const auto& [tid, thread] : tracer.script) {
    for (const int signal : thread.signals) CHECK(signal == SIGUSR1);
  }
}

TEST_CASE("a sleeping thread that does not stop is a timeout that names it") {
  ScriptedTracer tracer;
  tracer.listings = {whole({4711, 4712})};
  tracer.script[4712].stops = false;
  const auto frozen = FrozenProcess::freeze(tracer, {.thread_deadline = 40ms});
  REQUIRE(!frozen);
  CHECK(frozen.error().kind == ErrorKind::Timeout);
  CHECK(frozen.error().message().find("4712") != std::string::npos);
  CHECK(tracer.still_traced() == std::set<pid_t>{4712});  // the tracing thread's end releases it
}

TEST_CASE("a thread without a processor is waited for as long as others may be held") {
  ScriptedTracer tracer;
  tracer.listings = {whole({4711, 4712})};
  tracer.script[4712].stops = false;
  tracer.script[4712].state = 'R';
  const auto begin = tracer.now();
  const auto frozen = FrozenProcess::freeze(tracer, {.thread_deadline = 40ms, .budget = 700ms});
  REQUIRE(!frozen);
  CHECK(frozen.error().kind == ErrorKind::Timeout);
  CHECK(frozen.error().message().find("too busy") != std::string::npos);
  CHECK(tracer.now() - begin >= 700ms);
  CHECK(tracer.now() - begin < 800ms);
}

TEST_CASE("while no thread is stopped, those without a processor are waited for longer") {
  ScriptedTracer tracer;
  tracer.listings = {whole({4711})};
  tracer.script[4711].state = 'R';
  SUBCASE("until it has one") {
    tracer.script[4711].stops_after = 1500ms;
    const auto frozen = FrozenProcess::freeze(tracer, {.budget = 700ms});
    REQUIRE_MESSAGE(frozen, frozen.error().message());
    CHECK(tracer.now() - frozen->begin() < 100ms);  // the pause begins with the stop
  }
  SUBCASE("but not for ever") {
    tracer.script[4711].stops = false;
    const auto begin = tracer.now();
    const auto frozen = FrozenProcess::freeze(tracer, {.budget = 700ms});
    REQUIRE(!frozen);
    CHECK(frozen.error().kind == ErrorKind::Timeout);
    CHECK(tracer.now() - begin < 7s);
  }
}

TEST_CASE("a thread in uninterruptible sleep is soon held without its registers") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2})};
  tracer.script[2].stops = false;
  tracer.script[2].state = 'D';
  const auto before = tracer.now();
  auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tracer.now() - before < std::chrono::milliseconds(100));
  REQUIRE(frozen->threads().size() == 2);
  CHECK(frozen->threads()[1].state == 'D');
  CHECK_FALSE(frozen->threads()[1].registers);
  CHECK(frozen->threads()[1].blocked_stack_pointer == RemoteAddr{0x7000});
  SUBCASE("it still sleeps at the thaw") {
    CHECK(frozen->thaw().left_behind == 1);
  }
  SUBCASE("it has woken by the thaw") {
    tracer.script[2].stops = true;
    CHECK(frozen->thaw().left_behind == 0);
    CHECK(tracer.still_traced().empty());
  }
  SUBCASE("a signal has woken it by the thaw") {
    tracer.script[2].events = {{.kind = Kind::Signal, .signal = SIGTERM}};
    CHECK(frozen->thaw().left_behind == 0);
    CHECK(tracer.script[2].signals == std::vector<int>{SIGTERM});
  }
}

TEST_CASE("signals that come before the stop are passed on, and the stop is requested again") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1})};
  tracer.script[1].events = {{.kind = Kind::Signal, .signal = SIGUSR1},
                             {.kind = Kind::Passing},
                             {.kind = Kind::Signal, .signal = SIGALRM}};
  auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tracer.script[1].signals == std::vector<int>{SIGUSR1, SIGALRM});
  CHECK(tracer.script[1].interrupts == 4);
  frozen->thaw();
  CHECK(tracer.script[1].signals.size() == 2);
  CHECK(tracer.still_traced().empty());
}

TEST_CASE("a thread cloned after the seizing of its parent is held too") {
  ScriptedTracer tracer;
  tracer.script[1].events = {{.kind = Kind::Cloned, .other = 2}};
  std::vector<pid_t> held{1};
  SUBCASE("one that belongs to the process") {
    tracer.listings = {whole({1}), whole({1, 2})};
    held = {1, 2};
  }
  SUBCASE("one that is a process of its own is released") {
    tracer.listings = {whole({1})};
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == held);
  CHECK(tracer.still_traced() == std::set<pid_t>(held.begin(), held.end()));
}

TEST_CASE("a first thread that has ended before the others does not hold up the freeze") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1, 2})};
  SUBCASE("before") {
    tracer.script[1].state = 'Z';
  }
  SUBCASE("while being stopped: the kernel reports nothing") {
    tracer.script[1].stops = false;
    tracer.script[1].state_when_interrupted = 'Z';
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE(frozen);
  CHECK(tids_of(*frozen) == std::vector<pid_t>{2});
}

TEST_CASE("a process whose threads all end is gone") {
  ScriptedTracer tracer;
  SUBCASE("one by one") {
    tracer.listings = {whole({1}), whole({})};
    tracer.script[1].ends_when_interrupted = true;
  }
  SUBCASE("before") {
    tracer.listings = {whole({})};
  }
  const auto frozen = FrozenProcess::freeze(tracer, {});
  REQUIRE_FALSE(frozen);
  CHECK(frozen.error().kind == ErrorKind::Gone);
}

TEST_CASE("threads that appear for ever use up the budget, and all are released") {
  ScriptedTracer tracer;
  std::vector<pid_t> tids;
  for (pid_t tid = 1; tid < 50; ++tid) {
    tids.push_back(tid);
    tracer.listings.push_back(whole(tids));
  }
  const auto frozen = FrozenProcess::freeze(tracer, {.budget = std::chrono::milliseconds(20)});
  REQUIRE_FALSE(frozen);
  CHECK(frozen.error().kind == ErrorKind::Timeout);
  CHECK(tracer.listings_made < 30);
  CHECK(tracer.still_traced().empty());
}

TEST_CASE("an untimed call that the stop interrupted continues") {
  ScriptedTracer tracer;
  tracer.listings = {whole({1})};
  tracer.script[1].registers = interrupted_epoll_wait();
  FreezeOptions options;
  bool goes_on = false;
  SUBCASE("as a rule") {
    goes_on = true;
  }
  SUBCASE("not if the user has turned it off") {
    options.rewind = false;
  }
  SUBCASE("not if a signal is pending for it") {
    tracer.script[1].deliverable = 1;
  }
  SUBCASE("not if it was not entered by `syscall`") {
    tracer.script[1].is_after_syscall = false;
  }
  SUBCASE("not if its user had stopped it") {
    tracer.script[1].events = {{.kind = Kind::Stopped, .signal = SIGSTOP}};
  }
  auto frozen = FrozenProcess::freeze(tracer, options);
  REQUIRE(frozen);
  CHECK_FALSE(tracer.script[1].registers_set);
  CHECK(frozen->thaw().rewound == (goes_on ? 1 : 0));
  CHECK(tracer.script[1].registers_set.has_value() == goes_on);
  if (goes_on) CHECK(tracer.script[1].registers_set->rip == 0x1000);
}

}  // namespace heapattach
