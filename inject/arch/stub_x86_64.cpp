#include <algorithm>

#include "attach/arch/red_zone.h"
#include "attach/arch/system_calls.h"
#include "inject/arch/stub.h"
#include "inject/arch/stub_code.h"

// The code relies on the following, and other designs were rejected:
//
// - No breakpoint, no single step, no debug register: each of them kills the target if we die while
//   it is armed. The tracer stops the thread at a system call instead (PTRACE_SYSCALL), and a
//   thread without a tracer does not stop at one.
// - The code after the call runs only without a tracer: a living one stops the thread after the
//   call and restores its registers, including one that a program cannot restore (orig_rax, by
//   which the kernel knows how to continue an interrupted call).
// - Only popf restores flags. It reads memory below the red zone, which is unused: a signal
//   handler's frame would be there as well. There is no call and no ret, so a shadow stack (CET)
//   stays as it is. No vector register is touched, so none has to be saved.
// - The clone closes no file of the target. It shares the descriptor table (CLONE_FILES), which
//   costs nothing, and leaves it first thing: close_range with CLOSE_RANGE_UNSHARE makes an empty
//   table of its own. Otherwise a connection that the service closes meanwhile would stay open
//   until the clone ends. Kernels before 5.9 do not know that; the table then stays shared, which
//   keeps nothing open that the service has closed.
// - The clone sleeps for some seconds, so that a thread of ours other than the one that traced its
//   birth can take hold of it, and exits. It does nothing else by itself.
//
// The piece in front is for a function of the target. A real call enters it and a real ret leaves
// it, so a shadow stack agrees. Afterwards the code restores the thread's errno and vector
// registers from what the tracer has written below the red zone. Then comes a system call like any
// other, where a living tracer finds the result in r12. By the ABI, the function preserves rbx and
// r12 to r15.
//
// The assembler resolves every address relative to rip, so the bytes can be at any address.
asm(R"(
  .pushsection .rodata
  .irp label, function_begin, function_returned, stub_begin, stub_clone, stub_call, stub_data, stub_end
  .globl heapattach_\label
  .hidden heapattach_\label
  .endr
  .balign 16
heapattach_function_begin:
  test %rbx, %rbx
  jz 1f
  call *%rbx                      # __errno_location
  mov %rax, %rbx
  mov (%rax), %r15d
  mov %rax, 48(%r14)              # for a tracer that has to do it
  mov %r15, 56(%r14)
1:
  mov (%r14), %rdi
  mov 8(%r14), %rsi
  mov 16(%r14), %rdx
  mov 24(%r14), %rcx
  mov 32(%r14), %r8
  mov 40(%r14), %r9
  xor %eax, %eax                  # no vector registers hold arguments
  call *%r12
heapattach_function_returned:
  mov %rax, %r12
  test %rbx, %rbx
  jz 1f
  mov %r15d, (%rbx)
1:
  mov $-1, %eax
  mov $-1, %edx
  xrstor64 (%r13)
  mov $39, %eax                   # getpid
  jmp heapattach_stub_call
  .balign 16
heapattach_stub_begin:
heapattach_stub_clone:
  syscall
  test %rax, %rax
  jz 3f
  jmp 2f
heapattach_stub_call:
  syscall
2:
  mov $14, %eax                   # rt_sigprocmask(SIG_SETMASK, &mask, NULL, 8)
  mov $2, %edi
  lea heapattach_stub_mask(%rip), %rsi
  xor %edx, %edx
  mov $8, %r10d
  syscall
  mov heapattach_stub_scratch(%rip), %rsp
  pushq heapattach_stub_flags(%rip)
  popfq
  mov heapattach_stub_general(%rip), %rax
  mov heapattach_stub_general+8(%rip), %rbx
  mov heapattach_stub_general+16(%rip), %rcx
  mov heapattach_stub_general+24(%rip), %rdx
  mov heapattach_stub_general+32(%rip), %rsi
  mov heapattach_stub_general+40(%rip), %rdi
  mov heapattach_stub_general+48(%rip), %rbp
  mov heapattach_stub_general+56(%rip), %r8
  mov heapattach_stub_general+64(%rip), %r9
  mov heapattach_stub_general+72(%rip), %r10
  mov heapattach_stub_general+80(%rip), %r11
  mov heapattach_stub_general+88(%rip), %r12
  mov heapattach_stub_general+96(%rip), %r13
  mov heapattach_stub_general+104(%rip), %r14
  mov heapattach_stub_general+112(%rip), %r15
  mov heapattach_stub_stack(%rip), %rsp
  jmp *heapattach_stub_goal(%rip)
3:
  mov $436, %eax                  # close_range(0, ~0, CLOSE_RANGE_UNSHARE)
  xor %edi, %edi
  mov $-1, %esi
  mov $2, %edx
  syscall
  mov $157, %eax                  # prctl(PR_SET_NAME, name)
  mov $15, %edi
  lea heapattach_stub_name(%rip), %rsi
  syscall
  mov $35, %eax                   # nanosleep(&time, NULL)
  lea heapattach_stub_sleep(%rip), %rdi
  xor %esi, %esi
  syscall
4:
  mov $231, %eax                  # exit_group(0)
  xor %edi, %edi
  syscall
  jmp 4b
  .balign 8
heapattach_stub_data:
heapattach_stub_scratch: .quad 0
heapattach_stub_flags:   .quad 0
heapattach_stub_general: .fill 15, 8, 0
heapattach_stub_stack:   .quad 0
heapattach_stub_goal:    .quad 0
heapattach_stub_mask:    .quad 0
heapattach_stub_sleep:   .quad 0, 0
heapattach_stub_name:    .quad 0, 0
heapattach_stub_end:
  .popsection
)");

namespace heapattach {

std::vector<std::uint64_t> words_to_load(const RawRegisters& way_back) {
  const RawRegisters& r = way_back;
  const std::uint64_t scratch_stack = (r.rsp - kRedZoneBytes) & ~std::uint64_t{7};
  return {scratch_stack, r.eflags, r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp,
          r.r8,          r.r9,     r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
}

// The jump needs no change: the code loads its goal.
void aim(std::span<std::byte> /*stub*/, RemoteAddr /*at*/, RemoteAddr /*goal*/) {}

bool is_stub_code(std::span<const std::byte> bytes) {
  return std::ranges::equal(bytes, std::span(heapattach_stub_begin, bytes.size()));
}

bool Stub::can_return(RemoteAddr /*at*/, RemoteAddr /*goal*/) {
  return true;
}

std::uint64_t Stub::function_result(const RawRegisters& at) {
  return at.r12;
}

Result<RemoteAddr> place_for_calls(const RawRegisters& found, const MemoryReader& /*memory*/) {
  return instruction_pointer(found);
}

RawRegisters entering(const RawRegisters& found,
                      RemoteAddr entry,
                      long number,
                      std::span<const std::uint64_t> arguments) {
  RawRegisters in = found;
  set_call(in, number, arguments);
  set_instruction_pointer(in, entry);
  in.rsp = (found.rsp - kStackBytes) & ~std::uint64_t{15};
  return in;
}

}  // namespace heapattach
