#include <algorithm>
#include <array>

#include "attach/arch/registers.h"
#include "attach/arch/system_calls.h"

namespace heapattach {

namespace {

// Bits of the saved processor state (the Arm Architecture Reference Manual, SPSR_EL1).
constexpr std::uint64_t kMode32 = 0x10;
constexpr std::uint64_t kSingleStep = std::uint64_t{1} << 21U;

}  // namespace

// A thread in a call is shown as on other processors: after the call's instruction, and with the
// first argument in its register.
Registers registers_of(const RawRegisters& raw) {
  std::array<std::uint64_t, GeneralRegisters::kOfAarch64> general{};
  std::ranges::copy(raw.general.regs, general.begin());
  Registers seen{.general = GeneralRegisters(general),
                 .instruction_pointer = {raw.general.pc},
                 .stack_pointer = {raw.general.sp},
                 .thread_pointer = {raw.thread_pointer},
                 .system_call = {}};
  if (raw.interruption == Interruption::None) return seen;
  seen.system_call = static_cast<std::uint64_t>(raw.call);
  seen.general[0] = raw.first_argument;
  if (raw.interruption == Interruption::Restarts) {
    seen.instruction_pointer = seen.instruction_pointer + call_instruction().size();
  }
  return seen;
}

RemoteAddr instruction_pointer(const RawRegisters& at) {
  return {at.general.pc};
}

RemoteAddr stack_pointer(const RawRegisters& at) {
  return {at.general.sp};
}

void set_instruction_pointer(RawRegisters& registers, RemoteAddr at) {
  registers.general.pc = at.value;
}

bool runs_64_bit_code(const RawRegisters& at) {
  return (at.general.pstate & kMode32) == 0;
}

bool is_single_stepping(const RawRegisters& at) {
  return (at.general.pstate & kSingleStep) != 0;
}

}  // namespace heapattach
