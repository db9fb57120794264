#include "inject/in_place.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <doctest/doctest.h>

#include "tests/fakes/scripted_control.h"

namespace heapattach {

namespace {

using Kind = RemoteStop::Kind;
using End = InPlaceOutcome::End;

constexpr std::uint64_t kMask = 0x55;
constexpr RemoteAddr kStack{0x7ffd00000000};
constexpr std::uint64_t kStackBytesMapped = 0x40000;
constexpr RemoteAddr kFunction{0x500000};
constexpr RemoteAddr kErrno{0x7ffd00030000};

RawRegisters found() {
  RawRegisters at{};
  at.rip = 0x7f0000001234;
  at.rsp = kStack.value + 0x20000;
  at.rax = static_cast<std::uint64_t>(-512);
  at.orig_rax = SYS_read;
  at.rbx = 17;
  at.eflags = 0x246;
  return at;
}

RemoteAddr after_function() {
  return ScriptedControl::kStub + Stub::function_bytes() + Stub::call_entry() + 2;
}

// The kernel's part: the thread stops at the system call after the function, then at that call's
// end, and then because it was asked to stop.
RemoteStop at_call_after(ScriptedControl& control) {
  control.now.rip = after_function().value;
  control.now.orig_rax = SYS_getpid;
  control.now.rax = static_cast<std::uint64_t>(-ENOSYS);
  control.now.r12 = 4711;
  return {.kind = Kind::SystemCall};
}
RemoteStop at_its_exit(ScriptedControl&) {
  return {.kind = Kind::SystemCall};
}
RemoteStop interrupted(ScriptedControl&) {
  return {.kind = Kind::Stopped};
}
RemoteStop vanished(ScriptedControl&) {
  return {.kind = Kind::Ended};
}
RemoteStop killed_by_filter(ScriptedControl&) {
  return {.kind = Kind::Ended, .signal = SIGSYS, .other = 0};
}
RemoteStop crashed(ScriptedControl&) {
  return {.kind = Kind::Ended, .signal = SIGSEGV, .other = 0};
}
RemoteStop other_call(ScriptedControl& control) {
  control.now.rip = kFunction.value + 20;
  control.now.orig_rax = SYS_write;
  control.now.rax = static_cast<std::uint64_t>(-ENOSYS);
  return {.kind = Kind::SystemCall};
}
RemoteStop about_to_exit(ScriptedControl& control) {
  static_cast<void>(other_call(control));
  control.now.orig_rax = SYS_exit_group;
  control.now.rdi = 3;
  return {.kind = Kind::SystemCall};
}
RemoteStop fault(ScriptedControl& control) {
  control.now.rip = kFunction.value + 4;
  control.extended.assign(832, std::byte{9});
  control.mask = 0;
  control.space.put(kErrno, std::int32_t{EBADF});
  // The stub has stored the address of errno, and its value.
  const std::uint64_t block = control.now.r14;
  control.space.put(RemoteAddr{block + 48}, kErrno.value);
  control.space.put(RemoteAddr{block + 56}, std::int32_t{77});
  return {.kind = Kind::Signal, .signal = SIGSEGV, .other = 0};
}

struct Played {
  ScriptedControl control;
  std::uint64_t handled = 0;
  std::chrono::milliseconds time{60'000};

  Played() {
    control.space.map_zero(kStack, kStackBytesMapped);
    control.now = found();
    control.mask = kMask;
    control.script = {at_call_after, at_its_exit, interrupted};
  }

  Result<InPlaceOutcome> run() {
    Borrowed thread{.tid = 7,
                    .found = found(),
                    .way_back = found(),
                    .mask = kMask,
                    .stub = ScriptedControl::kStub};
    thread.way_back = way_back(found(), std::nullopt);
    Mapping stack;
    stack.writable = true;
    stack.range = {kStack, kStackBytesMapped};
    InPlaceCall call;
    call.function = {kFunction, {0x600000}, {}};
    call.handled_signals = handled;
    call.deadline = std::chrono::steady_clock::now() + time;
    return call_in_place(control, thread, MemoryMap({stack}), call);
  }

  [[nodiscard]] bool is_as_found() const {
    const RawRegisters expected = found();
    return std::memcmp(&control.now, &expected, sizeof expected) == 0 && control.mask == kMask &&
           is_padding_zero();
  }
  [[nodiscard]] bool is_padding_zero() const {
    std::vector<std::byte> there(in_place_bytes());
    if (!control.space.read(ScriptedControl::kStub, there)) return false;
    return std::all_of(there.begin(), there.end(), [](std::byte b) { return b == std::byte{0}; });
  }
  // Whether the detached thread returns by itself: it is in the function or the stub, and the stub
  // is in memory.
  [[nodiscard]] bool finds_way_back() const { return control.is_detached && !is_padding_zero(); }
};

}  // namespace

TEST_CASE("a function in place gives its result, and the thread is restored") {
  Played played;
  const auto outcome = played.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::Returned);
  CHECK(outcome->value == 4711);
  CHECK(played.is_as_found());
  CHECK(!played.control.is_detached);
}

TEST_CASE(
    "a process that ends while a function in place returns is said to have ended in our code") {
  const auto message_for = [](RemoteStop (*end)(ScriptedControl&)) {
    Played played;
    played.control.script = {at_call_after, end};
    const auto outcome = played.run();
    return outcome ? std::string() : outcome.error().message();
  };
  CHECK(message_for(crashed) == "it was killed by SIGSEGV while it ran our code");
  CHECK(message_for(killed_by_filter).find("killed by SIGSYS at our call") != std::string::npos);
  CHECK(message_for(vanished) == "it ended while it ran our code");
}

TEST_CASE("everything that a function in place needs is written before the thread enters it") {
  Played played;
  REQUIRE(played.run().has_value());
  const std::vector<std::string> begin(played.control.log.begin(), played.control.log.begin() + 5);
  CHECK(begin == std::vector<std::string>{"extended state", "write", "write", "set registers",
                                          "run to call"});
  // All signals are blocked only while the stub itself will set the mask again.
  const auto blocked =
      std::find(played.control.log.begin(), played.control.log.end(), std::string("set mask"));
  CHECK(std::count(played.control.log.begin(), blocked, std::string("wait")) == 1);
}

TEST_CASE(
    "a failure at any step of a call in place leaves a thread restored, or with its way back") {
  Played whole;
  REQUIRE(whole.run().has_value());
  for (int step = 1; step <= whole.control.steps; ++step) {
    CAPTURE(step);
    Played played;
    played.control.fail_at = step;
    CHECK(!played.run().has_value());
    const bool is_out_of_reach = whole.control.log[static_cast<std::size_t>(step - 1)] == "wait";
    if (is_out_of_reach) {
      CHECK(!played.is_padding_zero());
    } else {
      CHECK((played.finds_way_back() || played.is_as_found()));
    }
  }
}

TEST_CASE("signals reach a function in place, and its system calls are its own") {
  Played played;
  const auto signal = [](ScriptedControl&) {
    return RemoteStop{.kind = Kind::Signal, .signal = SIGUSR1, .other = 0};
  };
  played.control.script.insert(played.control.script.begin(), {other_call, signal});
  const auto outcome = played.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::Returned);
  CHECK(played.control.signals == std::vector<int>{SIGUSR1});
  CHECK(played.is_as_found());
}

TEST_CASE("a crash in place is discarded, and the thread is pulled out and restored") {
  Played played;
  played.control.script = {fault, interrupted};
  played.control.origin = {.code = 1, .sender = 0, .address = {8}};
  const auto extended = played.control.extended;
  const auto outcome = played.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::Crashed);
  CHECK(outcome->number == SIGSEGV);
  CHECK(outcome->fault.value == 8);
  CHECK(outcome->where->rip == kFunction.value + 4);
  CHECK(played.control.signals.empty());
  CHECK(played.is_as_found());
  CHECK(played.control.extended == extended);
  CHECK(played.control.space.read_as<std::int32_t>(kErrno).value() == 77);
}

TEST_CASE("a write to a protected page is left to the collector's handler, once") {
  Played played;
  played.handled = std::uint64_t{1} << (SIGSEGV - 1);
  played.control.origin = {.code = SEGV_ACCERR, .sender = 0, .address = {8}};
  SUBCASE("it has dealt with it") {
    played.control.script.insert(played.control.script.begin(), fault);
    CHECK(played.run()->end == End::Returned);
    CHECK(played.control.signals == std::vector<int>{SIGSEGV});
  }
  SUBCASE("it has not") {
    played.control.script = {fault, fault, interrupted};
    CHECK(played.run()->end == End::Crashed);
    CHECK(played.is_as_found());
  }
  SUBCASE("there is none") {
    played.handled = 0;
    played.control.script = {fault, interrupted};
    CHECK(played.run()->end == End::Crashed);
  }
}

TEST_CASE("a function in place cannot end the process") {
  Played played;
  played.control.script = {other_call, about_to_exit, interrupted};
  const auto outcome = played.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::Exits);
  CHECK(outcome->number == 3);
  CHECK(played.is_as_found());
}

TEST_CASE("a function that does not return in time continues, and can still return") {
  Played played;
  played.time = std::chrono::milliseconds(-1);
  played.control.script = {interrupted};
  const auto outcome = played.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::LeftAlone);
  CHECK(played.finds_way_back());
  CHECK(played.control.mask == kMask);
}

TEST_CASE("a function that returns at the last moment counts as returned") {
  Played played;
  played.time = std::chrono::milliseconds(-1);
  const auto outcome = played.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::Returned);
  CHECK(outcome->value == 4711);
  CHECK(played.is_as_found());
}

TEST_CASE(
    "a process that ends during a call in place is reported, and padding in use is left alone") {
  Played played;
  played.control.script = {vanished};
  CHECK(played.run()->end == End::Vanished);
  Played by_signal;
  by_signal.control.script = {crashed};
  const auto outcome = by_signal.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->end == End::Vanished);
  CHECK(outcome->number == SIGSEGV);
  Played used;
  used.control.space.put(ScriptedControl::kStub + 40, std::uint8_t{1});
  CHECK(!used.run().has_value());
  CHECK(used.control.log.empty());
}

}  // namespace heapattach
