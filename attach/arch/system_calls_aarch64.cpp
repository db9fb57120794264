#include <array>
#include <cstring>
#include <ctime>

#include "attach/arch/system_calls.h"

// x8 has a call's number, x0 to x5 its arguments, and x0 its result. `svc` has four bytes, and pc
// is after it during the call. A stop inside a call loses the number and, if the call fails, the
// first argument (interrupted_calls.h).

namespace heapattach {

namespace {

constexpr unsigned kNumberRegister = 8;
constexpr std::array kSvc{std::byte{0x01}, std::byte{0x00}, std::byte{0x00}, std::byte{0xd4}};

// At a stop for a call, the kernel shows in x7 whether that is the entry or the exit.
constexpr unsigned kDirectionRegister = 7;

// Whether an interrupted call waits for the rest of its time when the kernel makes it again, as
// restart_syscall (kernel/time/hrtimer.c, kernel/futex/waitwake.c). The others wait as long as
// their arguments say, which is the rest if the kernel has updated them (fs/select.c).
bool goes_on_with_rest(const RawRegisters& at) {
  constexpr std::uint64_t kWait = 0;
  constexpr std::uint64_t kWaitBitset = 9;
  constexpr std::uint64_t kOperation = 0x7f;
  switch (at.call) {
    case SYS_restart_syscall:
    case SYS_nanosleep: return true;
    case SYS_clock_nanosleep: return (call_argument(at, 1) & TIMER_ABSTIME) == 0;
    case SYS_futex: {
      const std::uint64_t operation = call_argument(at, 1) & kOperation;
      const bool waits = operation == kWait || operation == kWaitBitset;
      return waits && call_argument(at, 3) != 0;
    }
    default: return false;
  }
}

}  // namespace

std::optional<long> call_number(const RawRegisters& at) {
  return at.call < 0 ? std::nullopt : std::optional<long>(at.call);
}

std::uint64_t call_argument(const RawRegisters& at, unsigned number) {
  return number == 0 ? at.first_argument : at.general.regs[number];
}

std::array<std::uint64_t, 6> call_arguments(const Registers& at) {
  std::array<std::uint64_t, 6> arguments{};
  std::copy_n(at.general.begin(), arguments.size(), arguments.begin());
  return arguments;
}

// The kernel has replaced the result of a call that it will make again with the first argument.
std::int64_t call_result(const RawRegisters& at) {
  if (at.interruption == Interruption::Restarts) {
    return goes_on_with_rest(at) ? kRestartBlock : kRestartSys;
  }
  return static_cast<std::int64_t>(at.general.regs[0]);
}

bool is_at_call_entry(const RawRegisters& at) {
  return at.general.regs[kDirectionRegister] == 0;
}

std::span<const std::byte> call_instruction() {
  return kSvc;
}

std::vector<std::uint64_t> numbers_loaded(std::span<const std::byte> code) {
  constexpr std::uint32_t kMoveToX8 = 0x52800008;  // mov w8, #number; bit 31: x8
  std::vector<std::uint64_t> numbers;
  std::uint32_t word = 0;
  for (std::size_t at = code.size() / sizeof word; at-- > 0;) {
    std::memcpy(&word, code.data() + at * sizeof word, sizeof word);
    if ((word & 0x7fe0001fU) == kMoveToX8) numbers.push_back(word >> 5U & 0xffffU);
  }
  return numbers;
}

void leave_call(RawRegisters& registers) {
  registers.call = -1;
  registers.interruption = Interruption::None;
}

void refuse_call(RawRegisters& registers, std::int64_t result) {
  leave_call(registers);
  registers.general.regs[0] = static_cast<std::uint64_t>(result);
}

void replace_call(RawRegisters& registers, long number) {
  registers.call = number;
}

void call_again(RawRegisters& registers, long number) {
  registers.general.regs[kNumberRegister] = static_cast<std::uint64_t>(number);
  registers.general.regs[0] = registers.first_argument;
  if (registers.interruption != Interruption::Restarts) registers.general.pc -= kSvc.size();
  leave_call(registers);
}

void set_call_argument(RawRegisters& registers, unsigned number, std::uint64_t value) {
  registers.general.regs[number] = value;
  if (number == 0) registers.first_argument = value;
}

void set_call(RawRegisters& registers, long number, std::span<const std::uint64_t> arguments) {
  for (unsigned i = 0; i < 6; ++i) {
    set_call_argument(registers, i, i < arguments.size() ? arguments[i] : 0);
  }
  registers.general.regs[kNumberRegister] = static_cast<std::uint64_t>(number);
  leave_call(registers);
}

}  // namespace heapattach
