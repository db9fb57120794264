#include "inject/injection.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <doctest/doctest.h>

#include "tests/fakes/scripted_control.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kMask = 0x55;

RawRegisters found() {
  RawRegisters at{};
  at.rip = 0x7f0000001234;
  at.rsp = 0x7ffd00001000;
  at.rax = static_cast<std::uint64_t>(-512);
  at.orig_rax = SYS_read;
  at.rbx = 17;
  at.eflags = 0x246;
  return at;
}

Borrowed thread() {
  Borrowed borrowed{.tid = 7,
                    .found = found(),
                    .way_back = found(),
                    .mask = kMask,
                    .stub = ScriptedControl::kStub};
  borrowed.way_back = way_back(found(), std::nullopt);
  return borrowed;
}

RemoteCall a_clone() {
  return {.number = SYS_clone,
          .arguments = {0x400},
          .makes_process = true,
          .clone_seconds = 3,
          .deadline = std::chrono::steady_clock::time_point::max()};
}

bool is_as_found(const ScriptedControl& control) {
  const RawRegisters expected = found();
  return std::memcmp(&control.now, &expected, sizeof expected) == 0 && control.mask == kMask;
}

ScriptedControl& prepared(ScriptedControl& control) {
  control.now = found();
  control.mask = kMask;
  return control;
}

}  // namespace

TEST_CASE("a call leaves the registers, the mask and the padding unchanged") {
  ScriptedControl control;
  const auto made = make_call(prepared(control), thread(), a_clone());
  REQUIRE(made.has_value());
  CHECK(made->value == ScriptedControl::kChild);
  CHECK(made->born == ScriptedControl::kChild);
  CHECK(is_as_found(control));
  CHECK(control.is_padding_zero());
  CHECK(!control.is_detached);
}

TEST_CASE("the thread enters the stub before its signals are blocked, and leaves before it goes") {
  ScriptedControl control;
  REQUIRE(make_call(prepared(control), thread(), a_clone()).has_value());
  const std::vector<std::string> begin(control.log.begin(), control.log.begin() + 4);
  CHECK(begin == std::vector<std::string>{"write", "set registers", "set mask", "run to call"});
  const std::vector<std::string> end(control.log.end() - 3, control.log.end());
  CHECK(end == std::vector<std::string>{"set registers", "write", "wait"});  // for the child
}

TEST_CASE("a failure at any step leaves a thread restored, or able to return by itself") {
  ScriptedControl whole;
  REQUIRE(make_call(prepared(whole), thread(), a_clone()).has_value());
  for (int step = 1; step <= whole.steps; ++step) {
    CAPTURE(step);
    ScriptedControl control;
    prepared(control).fail_at = step;
    CHECK(!make_call(control, thread(), a_clone()).has_value());
    const std::string& failed = whole.log[static_cast<std::size_t>(step - 1)];
    if (control.is_detached) {
      CHECK(control.finds_way_back());
    } else if (failed == "wait" && step < whole.steps) {
      CHECK(!control.is_padding_zero());  // out of reach
    } else {
      CHECK(is_as_found(control));
      CHECK(control.is_padding_zero());
    }
  }
}

TEST_CASE("a process that was created is killed if a later step fails") {
  ScriptedControl whole;
  REQUIRE(make_call(prepared(whole), thread(), a_clone()).has_value());
  ScriptedControl control;
  prepared(control).fail_at = whole.steps;  // the wait for the child's first stop
  CHECK(!make_call(control, thread(), a_clone()).has_value());
  CHECK(control.is_child_killed);
  CHECK(is_as_found(control));
  CHECK(control.is_padding_zero());
}

TEST_CASE("a stop signal that arrives during a call is passed on") {
  ScriptedControl control;
  control.before_call = {{.kind = RemoteStop::Kind::Signal, .signal = SIGSTOP, .other = 0},
                         {.kind = RemoteStop::Kind::Stopped, .signal = 0, .other = 0}};
  REQUIRE(make_call(prepared(control), thread(), a_clone()).has_value());
  CHECK(control.signals == std::vector<int>{SIGSTOP});
  CHECK(is_as_found(control));
}

TEST_CASE("a thread that is killed during a call is Gone") {
  ScriptedControl control;
  control.before_call = {{.kind = RemoteStop::Kind::Ended, .signal = 0, .other = 0}};
  const auto made = make_call(prepared(control), thread(), a_clone());
  REQUIRE(!made.has_value());
  CHECK(made.error().kind == ErrorKind::Gone);
}

TEST_CASE("a thread that is killed at our call is said to have been killed in our code") {
  const auto message_for = [](int signal) {
    ScriptedControl control;
    control.before_call = {{.kind = RemoteStop::Kind::Ended, .signal = signal, .other = 0}};
    const auto made = make_call(prepared(control), thread(), a_clone());
    return made ? std::string() : made.error().message();
  };
  CHECK(message_for(SIGSYS).find("killed by SIGSYS at our call") != std::string::npos);
  CHECK(message_for(SIGKILL).find("was killed by SIGKILL while it ran our code") !=
        std::string::npos);
}

TEST_CASE("a call that the kernel hands to the program is taken back, and its SIGSYS dropped") {
  ScriptedControl control;
  control.before_call = {{.kind = RemoteStop::Kind::Signal, .signal = SIGSYS, .other = 0},
                         {.kind = RemoteStop::Kind::Stopped, .signal = 0, .other = 0}};
  control.origin.code = 2;  // SYS_USER_DISPATCH
  const auto made = make_call(prepared(control), thread(), a_clone());
  REQUIRE(!made.has_value());
  CHECK(made.error().kind == ErrorKind::Impossible);
  CHECK(made.error().message().find("SYSCALL_USER_DISPATCH") != std::string::npos);
  CHECK(control.signals.empty());
  CHECK(is_as_found(control));
  CHECK(control.is_padding_zero());
  CHECK(!control.is_detached);
}

TEST_CASE("padding that is in use is left alone") {
  ScriptedControl control;
  control.space.put(ScriptedControl::kStub + 40, std::uint8_t{1});
  const auto made = make_call(prepared(control), thread(), a_clone());
  REQUIRE(!made.has_value());
  CHECK(made.error().kind == ErrorKind::Impossible);
  CHECK(control.log.empty());
}

TEST_CASE("the stub contains the state to return to, and is the same at any address") {
  const auto image = Stub::image(ScriptedControl::kStub, thread().way_back, kMask, 3);
  CHECK(image.size() == Stub::size_bytes());
  CHECK(image.size() < 512);
  for (const std::size_t entry : {Stub::call_entry(), Stub::clone_entry()}) {
    CHECK(image[entry] == std::byte{0x0f});  // syscall
    CHECK(image[entry + 1] == std::byte{0x05});
  }
}

TEST_CASE("a call that the kernel refuses gives its errno and leaves nothing") {
  ScriptedControl control;
  prepared(control).call_gives = -EAGAIN;
  const auto made = make_call(control, thread(), a_clone());
  REQUIRE(made.has_value());
  CHECK(made->value == -EAGAIN);
  CHECK(made->born == 0);
  CHECK(is_as_found(control));
  CHECK(control.is_padding_zero());
}

}  // namespace heapattach
