#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "attach/arch/system_calls.h"
#include "attach/base/check.h"
#include "inject/arch/state_aarch64.h"
#include "inject/arch/stub.h"
#include "inject/arch/stub_code.h"

// The rules and reasons of stub_x86_64.cpp apply here, too. In addition:
//
// - No instruction loads pc from memory, and a jump through a register would leave that register
//   changed. So the way back ends in a direct jump, which reaches 128 MiB: a thread is borrowed
//   only if a stub can be within that distance. rt_sigreturn would reach everywhere, but makes the
//   kernel forget the rest of an interrupted wait.
// - The kernel returns into the stub with the branch type of the thread's state cleared, and all
//   jumps in the stub are direct, so it needs no landing pads (BTI). Its code signs no pointer.
// - The kernel writes the code for us (/proc/PID/mem). It cleans the data cache and invalidates the
//   instruction cache for what it wrote, on all processors (flush_ptrace_access), and the thread's
//   return from the kernel synchronises its own pipeline. So it sees the new instructions.
// - A system call drops what SVE registers have beyond the first 128 bits of each. A thread that
//   uses them is not borrowed (choose_thread.cpp).
//
// The piece in front keeps its state in x19 to x23, which a function preserves.
asm(R"(
  .pushsection .rodata
  .irp label, function_begin, function_returned, stub_begin, stub_clone, stub_call, stub_data, stub_end
  .globl heapattach_\label
  .hidden heapattach_\label
  .endr
  .balign 16
heapattach_function_begin:
  cbz x19, 1f
  blr x19                         // __errno_location
  mov x19, x0
  ldr w23, [x0]
  stp x0, x23, [x22, #64]         // for a tracer that has to do it
1:
  ldp x0, x1, [x22]
  ldp x2, x3, [x22, #16]
  ldp x4, x5, [x22, #32]
  ldp x6, x7, [x22, #48]
  blr x20
heapattach_function_returned:
  mov x20, x0
  cbz x19, 1f
  str w23, [x19]
1:
  ldp q0, q1, [x21]
  ldp q2, q3, [x21, #32]
  ldp q4, q5, [x21, #64]
  ldp q6, q7, [x21, #96]
  ldp q8, q9, [x21, #128]
  ldp q10, q11, [x21, #160]
  ldp q12, q13, [x21, #192]
  ldp q14, q15, [x21, #224]
  ldp q16, q17, [x21, #256]
  ldp q18, q19, [x21, #288]
  ldp q20, q21, [x21, #320]
  ldp q22, q23, [x21, #352]
  ldp q24, q25, [x21, #384]
  ldp q26, q27, [x21, #416]
  ldp q28, q29, [x21, #448]
  ldp q30, q31, [x21, #480]
  ldr w0, [x21, #512]
  msr fpsr, x0
  ldr w0, [x21, #516]
  msr fpcr, x0
  mov x8, #172                    // getpid
  b heapattach_stub_call
  .balign 16
heapattach_stub_begin:
heapattach_stub_clone:
  svc #0
  cbz x0, 3f
  b 2f
heapattach_stub_call:
  svc #0
2:
  mov x8, #135                    // rt_sigprocmask(SIG_SETMASK, &mask, NULL, 8)
  mov x0, #2
  adr x1, heapattach_stub_mask
  mov x2, #0
  mov x3, #8
  svc #0
  ldr x0, heapattach_stub_stack
  mov sp, x0
  ldr x0, heapattach_stub_flags
  msr nzcv, x0
  ldr x0, heapattach_stub_general
  ldr x1, heapattach_stub_general+8
  ldr x2, heapattach_stub_general+16
  ldr x3, heapattach_stub_general+24
  ldr x4, heapattach_stub_general+32
  ldr x5, heapattach_stub_general+40
  ldr x6, heapattach_stub_general+48
  ldr x7, heapattach_stub_general+56
  ldr x8, heapattach_stub_general+64
  ldr x9, heapattach_stub_general+72
  ldr x10, heapattach_stub_general+80
  ldr x11, heapattach_stub_general+88
  ldr x12, heapattach_stub_general+96
  ldr x13, heapattach_stub_general+104
  ldr x14, heapattach_stub_general+112
  ldr x15, heapattach_stub_general+120
  ldr x16, heapattach_stub_general+128
  ldr x17, heapattach_stub_general+136
  ldr x18, heapattach_stub_general+144
  ldr x19, heapattach_stub_general+152
  ldr x20, heapattach_stub_general+160
  ldr x21, heapattach_stub_general+168
  ldr x22, heapattach_stub_general+176
  ldr x23, heapattach_stub_general+184
  ldr x24, heapattach_stub_general+192
  ldr x25, heapattach_stub_general+200
  ldr x26, heapattach_stub_general+208
  ldr x27, heapattach_stub_general+216
  ldr x28, heapattach_stub_general+224
  ldr x29, heapattach_stub_general+232
  ldr x30, heapattach_stub_general+240
heapattach_stub_jump:
  b .                             // replaced for each place
3:
  mov x8, #436                    // close_range(0, ~0, CLOSE_RANGE_UNSHARE)
  mov x0, #0
  mov w1, #-1
  mov x2, #2
  svc #0
  mov x8, #167                    // prctl(PR_SET_NAME, name)
  mov x0, #15
  adr x1, heapattach_stub_name
  svc #0
  mov x8, #101                    // nanosleep(&time, NULL)
  adr x0, heapattach_stub_sleep
  mov x1, #0
  svc #0
4:
  mov x8, #94                     // exit_group(0)
  mov x0, #0
  svc #0
  b 4b
  .balign 8
heapattach_stub_data:
heapattach_stub_flags:   .quad 0
heapattach_stub_general: .fill 31, 8, 0
heapattach_stub_stack:   .quad 0
heapattach_stub_goal:    .quad 0
heapattach_stub_mask:    .quad 0
heapattach_stub_sleep:   .quad 0, 0
heapattach_stub_name:    .quad 0, 0
heapattach_stub_end:
  .popsection
)");

// The symbol is hidden instead of local: the compiler may take the address from a table, for which
// the linker needs a symbol.
#pragma GCC visibility push(hidden)
extern "C" const std::byte heapattach_stub_jump[];
#pragma GCC visibility pop

namespace heapattach {

namespace {

constexpr std::uint32_t kJump = 0x14000000;  // b, with the distance in its lower 26 bits
constexpr unsigned kDistanceBits = 26;
constexpr std::size_t kInstructionBytes = 4;
constexpr std::int64_t kReach = std::int64_t{1} << (kDistanceBits + 1);

std::size_t jump_at() {
  return static_cast<std::size_t>(heapattach_stub_jump - heapattach_stub_begin);
}

std::int64_t distance(RemoteAddr from, RemoteAddr to) {
  return static_cast<std::int64_t>(to.value - from.value);
}

}  // namespace

std::vector<std::uint64_t> words_to_load(const RawRegisters& way_back) {
  std::vector<std::uint64_t> words{way_back.general.pstate & kConditionFlags};
  words.insert(words.end(), std::begin(way_back.general.regs), std::end(way_back.general.regs));
  return words;
}

void aim(std::span<std::byte> stub, RemoteAddr at, RemoteAddr goal) {
  const std::int64_t away = distance(at + jump_at(), goal);
  HA_CHECK(away >= -kReach && away < kReach);
  const auto instructions = static_cast<std::uint64_t>(away) / kInstructionBytes;
  const auto code =
      kJump | static_cast<std::uint32_t>(instructions & ((std::uint64_t{1} << kDistanceBits) - 1));
  std::memcpy(stub.data() + jump_at(), &code, sizeof code);
}

bool is_stub_code(std::span<const std::byte> bytes) {
  const std::span code(heapattach_stub_begin, bytes.size());
  const std::size_t after = jump_at() + kInstructionBytes;
  return std::ranges::equal(bytes.first(jump_at()), code.first(jump_at())) &&
         std::ranges::equal(bytes.subspan(after), code.subspan(after));
}

bool Stub::can_return(RemoteAddr at, RemoteAddr goal) {
  const auto bytes = static_cast<std::int64_t>(function_bytes() + size_bytes());
  const std::int64_t away = distance(at, goal);
  return goal.value % kInstructionBytes == 0 && away >= -kReach + bytes && away < kReach - bytes;
}

std::uint64_t Stub::function_result(const RawRegisters& at) {
  return at.general.regs[20];
}

// Looks for an instruction after that of the sleep: a thread that continues at the sleep's would
// make restart_syscall.
Result<RemoteAddr> place_for_calls(const RawRegisters& found, const MemoryReader& memory) {
  std::array<std::byte, 8 * kInstructionBytes> code{};
  const RemoteAddr from = instruction_pointer(found) + kInstructionBytes;
  HA_TRY(memory.read(from, code));
  for (std::size_t at = 0; at < code.size(); at += kInstructionBytes) {
    if (std::ranges::equal(std::span(code).subspan(at, kInstructionBytes), call_instruction())) {
      return from + at + kInstructionBytes;
    }
  }
  return Error{ErrorKind::Impossible, "the clone is not in the instructions of its sleep"};
}

RawRegisters entering(const RawRegisters& found,
                      RemoteAddr entry,
                      long number,
                      std::span<const std::uint64_t> arguments) {
  RawRegisters in = found;
  set_call(in, number, arguments);
  set_instruction_pointer(in, entry);
  in.general.pstate &= ~kBranchType;
  return in;
}

}  // namespace heapattach
