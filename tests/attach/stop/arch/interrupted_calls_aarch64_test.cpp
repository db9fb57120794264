// Compiled for aarch64 only: tests the registers of that processor's threads.

#include <cerrno>
#include <ctime>

#include <doctest/doctest.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "attach/stop/arch/interrupted_calls.h"
#include "attach/stop/rewind.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kAfter = 0x401004;
constexpr std::uint64_t kStack = 0x7ff0'0000'1000;

// epoll_pwait(5, events, 4, -1, NULL, 8), as /proc shows it while the thread is blocked in it.
BlockedCall waiting() {
  return {.number = SYS_epoll_pwait,
          .arguments = {5, 0x7000, 4, 0xffffffff, 0, 8},
          .stack_pointer = {kStack},
          .instruction_pointer = {kAfter}};
}

// The registers at a stop that has interrupted that call.
RawRegisters stopped(std::uint64_t first, std::uint64_t pc) {
  RawRegisters at;
  const BlockedCall call = waiting();
  for (unsigned i = 1; i < 6; ++i) at.general.regs[i] = call.arguments[i];
  at.general.regs[0] = first;
  at.general.regs[8] = SYS_epoll_pwait;
  at.general.sp = kStack;
  at.general.pc = pc;
  return at;
}

constexpr auto kFailed = static_cast<std::uint64_t>(-EINTR);

RawRegisters failed() {
  RawRegisters at = stopped(kFailed, kAfter);
  at.interruption = interruption_of(waiting(), at);
  at.call = SYS_epoll_pwait;
  at.first_argument = 5;
  return at;
}

}  // namespace

TEST_CASE("a stop interrupts the call that the thread was blocked in, and no other") {
  CHECK(interruption_of(waiting(), stopped(kFailed, kAfter)) == Interruption::Fails);
  CHECK(interruption_of(waiting(), stopped(5, kAfter - 4)) == Interruption::Restarts);

  SUBCASE("it returned") {
    CHECK(interruption_of(waiting(), stopped(2, kAfter)) == Interruption::None);
  }
  SUBCASE("it is about to make the call for another file") {
    CHECK(interruption_of(waiting(), stopped(6, kAfter - 4)) == Interruption::None);
  }
  SUBCASE("it is elsewhere") {
    CHECK(interruption_of(waiting(), stopped(kFailed, kAfter + 4)) == Interruption::None);
  }
  SUBCASE("in another function's frame") {
    RawRegisters at = stopped(kFailed, kAfter);
    at.general.sp -= 64;
    CHECK(interruption_of(waiting(), at) == Interruption::None);
  }
  SUBCASE("in another call") {
    RawRegisters at = stopped(kFailed, kAfter);
    at.general.regs[8] = SYS_ppoll;
    CHECK(interruption_of(waiting(), at) == Interruption::None);
  }
  SUBCASE("with another time limit") {
    RawRegisters at = stopped(kFailed, kAfter);
    at.general.regs[3] = 1000;
    CHECK(interruption_of(waiting(), at) == Interruption::None);
  }
  SUBCASE("the kernel still knows the call: it has stopped for the call itself") {
    RawRegisters at = stopped(kFailed, kAfter);
    at.call = SYS_epoll_pwait;
    CHECK(interruption_of(waiting(), at) == Interruption::None);
  }
  SUBCASE("it was in a page fault") {
    BlockedCall fault = waiting();
    fault.number = -1;
    CHECK(interruption_of(fault, stopped(kFailed, kAfter)) == Interruption::None);
  }
}

TEST_CASE("an untimed call that has failed is made again with its first argument") {
  const auto again = rewound(failed(), 0);
  REQUIRE(again);
  CHECK(again->general.pc == kAfter - 4);
  CHECK(again->general.regs[0] == 5);
  CHECK(again->general.regs[8] == SYS_epoll_pwait);
  CHECK(again->interruption == Interruption::None);
  CHECK_FALSE(call_number(*again));
  CHECK_FALSE(rewound(failed(), 1));  // a signal waits

  RawRegisters timed = failed();
  timed.general.regs[3] = 1000;
  CHECK_FALSE(is_rewindable(timed));
  RawRegisters unknown = stopped(kFailed, kAfter);  // not known to be in a call
  CHECK_FALSE(is_rewindable(unknown));
}

TEST_CASE("a thread in a call is shown after the instruction, with all arguments") {
  const Registers seen = registers_of(failed());
  CHECK(seen.system_call == SYS_epoll_pwait);
  CHECK(seen.instruction_pointer == RemoteAddr{kAfter});
  CHECK(call_arguments(seen) == waiting().arguments);

  RawRegisters restarts = stopped(5, kAfter - 4);
  restarts.interruption = Interruption::Restarts;
  restarts.call = SYS_epoll_pwait;
  restarts.first_argument = 5;
  CHECK(registers_of(restarts).instruction_pointer == RemoteAddr{kAfter});

  CHECK_FALSE(registers_of(stopped(5, kAfter)).system_call);
  CHECK(registers_of(stopped(5, kAfter)).general.size() == 31);
}

TEST_CASE("the numbers that code loads for a call are found, the nearest first") {
  // mov x8, #22; mov w0, #1; mov w8, #73; svc #0
  const std::array<std::uint32_t, 4> code{0xd28002c8, 0x52800020, 0x52800928, 0xd4000001};
  CHECK(numbers_loaded(std::as_bytes(std::span(code))) == std::vector<std::uint64_t>{73, 22});
}

TEST_CASE("what a stop has shown of a call is known again when registers are read later") {
  RawRegisters again = stopped(kFailed, kAfter);
  recall_call(again, registers_of(failed()));
  CHECK(again.interruption == Interruption::Fails);
  CHECK(call_argument(again, 0) == 5);
  CHECK(rewound(again, 0).has_value());

  RawRegisters before = stopped(5, kAfter - 4);
  RawRegisters seen = before;
  seen.interruption = Interruption::Restarts;
  seen.call = SYS_epoll_pwait;
  seen.first_argument = 5;
  recall_call(before, registers_of(seen));
  CHECK(before.interruption == Interruption::Restarts);
  CHECK(call_result(before) == kRestartSys);

  RawRegisters computing = stopped(5, kAfter);
  recall_call(computing, registers_of(computing));
  CHECK(computing.interruption == Interruption::None);
}

TEST_CASE("of interrupted calls, those go on with the rest of their time that the kernel lets") {
  constexpr std::uint64_t kPrivateWait = 128;
  constexpr std::uint64_t kPrivateWake = 129;
  const auto result = [](long number, std::uint64_t second, std::uint64_t fourth) {
    RawRegisters at = stopped(5, kAfter - 4);
    at.interruption = Interruption::Restarts;
    at.call = number;
    at.general.regs[1] = second;
    at.general.regs[3] = fourth;
    return call_result(at);
  };
  CHECK(result(SYS_nanosleep, 0, 0) == kRestartBlock);
  CHECK(result(SYS_restart_syscall, 0, 0) == kRestartBlock);
  CHECK(result(SYS_clock_nanosleep, 0, 0) == kRestartBlock);
  CHECK(result(SYS_clock_nanosleep, TIMER_ABSTIME, 0) == kRestartSys);
  CHECK(result(SYS_futex, kPrivateWait, 0x7000) == kRestartBlock);
  CHECK(result(SYS_futex, kPrivateWait, 0) == kRestartSys);
  CHECK(result(SYS_futex, kPrivateWake, 0x7000) == kRestartSys);
  CHECK(result(SYS_ppoll, 0, 0) == kRestartSys);
}

}  // namespace heapattach
