#include <array>
#include <cstddef>
#include <cstring>

#include "attach/arch/red_zone.h"
#include "attach/arch/system_calls.h"
#include "attach/base/check.h"
#include "inject/arch/stub.h"

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

extern "C" {
extern const std::byte heapattach_function_begin[];
extern const std::byte heapattach_function_returned[];
extern const std::byte heapattach_stub_begin[];
extern const std::byte heapattach_stub_clone[];
extern const std::byte heapattach_stub_call[];
extern const std::byte heapattach_stub_data[];
extern const std::byte heapattach_stub_end[];
}

namespace {

// The words that the code loads, in the order in which they follow it.
struct Words {
  std::uint64_t scratch_stack;
  std::uint64_t flags;
  std::array<std::uint64_t, 15> general;
  std::uint64_t stack;
  std::uint64_t goal;
  std::uint64_t mask;
  std::array<std::uint64_t, 2> sleep;  // struct timespec
  std::array<char, 16> name;
};

std::size_t offset_of(const std::byte* label) {
  return static_cast<std::size_t>(label - heapattach_stub_begin);
}

}  // namespace

std::size_t Stub::size_bytes() {
  return offset_of(heapattach_stub_end);
}

std::size_t Stub::call_entry() {
  return offset_of(heapattach_stub_call);
}

std::size_t Stub::clone_entry() {
  return offset_of(heapattach_stub_clone);
}

std::size_t Stub::name_at() {
  return offset_of(heapattach_stub_data) + offsetof(Words, name);
}

std::size_t Stub::function_bytes() {
  return static_cast<std::size_t>(heapattach_stub_begin - heapattach_function_begin);
}

std::size_t Stub::function_return() {
  return static_cast<std::size_t>(heapattach_function_returned - heapattach_function_begin);
}

std::uint64_t Stub::function_result(const RawRegisters& at) {
  return at.r12;
}

std::optional<Stub::Left> Stub::recognize(std::span<const std::byte> bytes) {
  const auto begins_with = [&](const std::byte* code, std::size_t count) {
    return bytes.size() >= count && std::memcmp(bytes.data(), code, count) == 0;
  };
  std::size_t in_front = 0;
  if (begins_with(heapattach_function_begin, function_bytes())) in_front = function_bytes();
  bytes = bytes.subspan(in_front);
  const std::size_t code = offset_of(heapattach_stub_data);
  if (!begins_with(heapattach_stub_begin, code) || bytes.size() < size_bytes()) return std::nullopt;
  Words words{};
  std::memcpy(&words, bytes.data() + code, sizeof words);
  return Left{in_front + size_bytes(), {words.stack}};
}

std::vector<std::byte> Stub::function_image(const RawRegisters& way_back, std::uint64_t mask) {
  std::vector<std::byte> bytes(heapattach_function_begin, heapattach_stub_begin);
  const std::vector<std::byte> rest = image(way_back, mask, 0);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

std::vector<std::byte> Stub::image(const RawRegisters& way_back,
                                   std::uint64_t mask,
                                   std::uint64_t clone_seconds,
                                   std::string_view name) {
  HA_CHECK(heapattach_stub_end - heapattach_stub_data == sizeof(Words));
  const RawRegisters& r = way_back;
  Words words{.scratch_stack = (r.rsp - kRedZoneBytes) & ~std::uint64_t{7},
              .flags = r.eflags,
              .general = {r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.r8, r.r9, r.r10, r.r11,
                          r.r12, r.r13, r.r14, r.r15},
              .stack = r.rsp,
              .goal = r.rip,
              .mask = mask,
              .sleep = {clone_seconds, 0},
              .name = {}};
  HA_CHECK(name.size() < words.name.size());
  std::memcpy(words.name.data(), name.data(), name.size());
  std::vector<std::byte> bytes(heapattach_stub_begin, heapattach_stub_end);
  std::memcpy(bytes.data() + offset_of(heapattach_stub_data), &words, sizeof words);
  return bytes;
}

// The code loads its goal.
void Stub::place_at(RemoteAddr /*at*/, std::span<std::byte> /*image*/) {}

bool Stub::can_return(RemoteAddr /*at*/, RemoteAddr /*goal*/) {
  return true;
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
