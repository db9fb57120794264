#include <array>
#include <cerrno>
#include <cstring>

#include "attach/arch/system_calls.h"

// rax has a call's number on entry and its result on exit. orig_rax keeps the number while the
// thread is in the call, and is negative otherwise (rt_sigreturn sets it to -1). The kernel changes
// only rax, rcx and r11, so all arguments are still there at the exit. `syscall` has two bytes, and
// rip is after it during the call.

namespace heapattach {

namespace {

constexpr auto kNoCall = static_cast<std::uint64_t>(-1);
constexpr std::array kSyscall{std::byte{0x0f}, std::byte{0x05}};

}  // namespace

std::optional<long> call_number(const RawRegisters& at) {
  const auto number = static_cast<long>(at.orig_rax);
  return number < 0 ? std::nullopt : std::optional(number);
}

std::uint64_t call_argument(const RawRegisters& at, unsigned number) {
  const std::array<std::uint64_t, 6> arguments{at.rdi, at.rsi, at.rdx, at.r10, at.r8, at.r9};
  return arguments.at(number);
}

std::array<std::uint64_t, 6> call_arguments(const Registers& at) {
  enum { kRdx = 3, kRsi = 4, kRdi = 5, kR8 = 7, kR9 = 8, kR10 = 9 };  // as in Registers::general
  return {at.general[kRdi], at.general[kRsi], at.general[kRdx],
          at.general[kR10], at.general[kR8],  at.general[kR9]};
}

std::int64_t call_result(const RawRegisters& at) {
  return static_cast<std::int64_t>(at.rax);
}

bool is_at_call_entry(const RawRegisters& at) {
  return call_result(at) == -ENOSYS;
}

std::span<const std::byte> call_instruction() {
  return kSyscall;
}

std::vector<std::uint64_t> numbers_loaded(std::span<const std::byte> code) {
  constexpr std::byte kMoveToEax{0xb8};  // mov $number,%eax
  std::vector<std::uint64_t> numbers;
  std::uint32_t number = 0;
  const std::size_t least = 1 + sizeof number + kSyscall.size();
  for (std::size_t at = code.size(); at > least; --at) {
    const std::byte* const move = code.data() + (at - least);
    if (*move != kMoveToEax) continue;
    std::memcpy(&number, move + 1, sizeof number);
    numbers.push_back(number);
  }
  return numbers;
}

void leave_call(RawRegisters& registers) {
  registers.orig_rax = kNoCall;
}

void refuse_call(RawRegisters& registers, std::int64_t result) {
  registers.orig_rax = kNoCall;
  registers.rax = static_cast<std::uint64_t>(result);
}

void replace_call(RawRegisters& registers, long number) {
  registers.orig_rax = static_cast<std::uint64_t>(number);
}

void call_again(RawRegisters& registers, long number) {
  registers.rax = static_cast<std::uint64_t>(number);
  registers.rip -= kSyscall.size();
  registers.orig_rax = kNoCall;
}

void set_call_argument(RawRegisters& registers, unsigned number, std::uint64_t value) {
  const std::array slots{&registers.rdi, &registers.rsi, &registers.rdx,
                         &registers.r10, &registers.r8,  &registers.r9};
  *slots.at(number) = value;
}

void set_call(RawRegisters& registers, long number, std::span<const std::uint64_t> arguments) {
  for (unsigned i = 0; i < 6; ++i) {
    set_call_argument(registers, i, i < arguments.size() ? arguments[i] : 0);
  }
  registers.rax = static_cast<std::uint64_t>(number);
  registers.orig_rax = kNoCall;
}

}  // namespace heapattach
