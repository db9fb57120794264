// The hooks of x86-64, and how they call the rest of the recorder (recorder.c includes this).

// The hook of an allocation: GC_malloc_kind(size, kind) or a similar function. `\size` is the
// register that holds the size; if `multiplies`, it is first set to the product of the two
// arguments. Nothing is on the stack on the usual path. On the other one, the frame is, from the
// top: the result, r15 r14 r13 r12 rbp rbx, r9 r8 rcx rdx rsi rdi, the return address. The real
// function is called before the sample is taken, so that a finalizer that runs in it delays
// nothing.
//
// Whether the blob is off is checked only on that other path: in a forked child, whose slots are
// empty, each allocation takes it that far.
//
// realloc() has a hook of its own, because its allocation may be due, its old memory may be a
// sample that ends, or both. malloc's free() looks at one byte on the usual path: in a forked
// child, and in a process without samples, all bytes are 0.
__asm__(
    "  .section .blob, \"ax\", @progbits\n"
    "  .globl blob_head\n"
    "  .hidden blob_head\n"
    "blob_head:\n"
    "  .ascii \"heapattach-trace\"\n"
    "  .long 6, blob_end - blob_head\n"
    "  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17\n"
    "  .long hook_\\n - blob_head\n"
    "  .endr\n"
    "  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17\n"
    "  .long trampoline_\\n - blob_head\n"
    "  .endr\n"
    "  .long handler - blob_head, counted - blob_head\n"
    "  .fill 2044 - (. - blob_head), 1, 0\n"
    "  .macro trampoline n\n"
    "trampoline_\\n: .fill 64, 1, 0xcc\n"
    "  .endm\n"
    "  .macro enter\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"
    "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  sub $8, %rsp\n"
    "  lock incq blob_control+64(%rip)\n"
    "  .endm\n"
    "  .macro leave_it\n"
    "  add $104, %rsp\n"
    "  lock decq blob_control+64(%rip)\n"
    "  .endm\n"
    "  .macro arguments\n"
    "  mov 96(%rsp), %rdi\n  mov 88(%rsp), %rsi\n  mov 80(%rsp), %rdx\n"
    "  mov 72(%rsp), %rcx\n  mov 64(%rsp), %r8\n  mov 56(%rsp), %r9\n"
    "  .endm\n"
    // Jumps to slow_n if a sample is due. Leaves the address of the slots in %r10.
    "  .macro count_down n, size, leads\n"
    "  mov %fs:0, %r11\n"
    "  mov %r11d, %eax\n"
    "  shr $8, %eax\n"
    "  and $0x3ff0, %eax\n"  // the slot of this thread, times its size
    "  lea blob_control+128(%rip), %r10\n"
    "  .if \\leads\n"
    "  mov (%rsp), %r11\n"
    "  xor %rsp, %r11\n"
    "  shr $1, %eax\n"
    "  mov %r11, 16384(%r10,%rax)\n"
    "  shl $1, %eax\n"
    "  mov %fs:0, %r11\n"
    "  .endif\n"
    "  cmp %r11, (%r10,%rax)\n"
    "  jne slow_\\n\n"
    "  sub \\size, 8(%r10,%rax)\n"
    "  js slow_\\n\n"
    "  .endm\n"
    "  .macro allocation n, size, leads=0, multiplies=0\n"
    "  .balign 64\n"
    "hook_\\n:\n"
    "  .if \\multiplies\n"
    "  mov %rdi, %rdx\n"
    "  imul %rsi, %rdx\n"
    "  .endif\n"
    "  count_down \\n, \\size, \\leads\n"
    "  trampoline \\n\n"
    "slow_\\n:\n"
    "  cmpl $0, blob_control(%rip)\n"
    "  je trampoline_\\n\n"
    "  enter\n"
    "  mov \\size, %rdi\n"
    "  mov %rsp, %rsi\n"
    "  mov $\\n, %edx\n"
    "  call blob_is_due\n"
    "  arguments\n"
    "  test %eax, %eax\n"
    "  jz 1f\n"
    "  mov \\size, %rbx\n"
    "  call trampoline_\\n\n"
    "  mov %rax, (%rsp)\n"
    "  mov %rsp, %rdi\n"
    "  mov %rbx, %rsi\n"
    "  mov $\\n, %edx\n"
    "  call blob_sample\n"
    "  mov 48(%rsp), %rbx\n"
    "  mov (%rsp), %rax\n"
    "  leave_it\n"
    "  ret\n"
    "1:\n"
    "  leave_it\n"
    "  jmp trampoline_\\n\n"
    "  .endm\n"
    "  allocation 0, %rdi\n  allocation 1, %rdi\n  allocation 2, %rdi\n  allocation 3, %rdi\n"
    "  allocation 4, %rdi\n  allocation 5, %rdi, 1\n  allocation 6, %rdi, 1\n  allocation 7, %rsi\n"
    "  allocation 8, %rdi\n  allocation 9, %rdx, 0, 1\n"
    "  allocation 11, %rsi, 1\n  allocation 12, %rsi, 1\n  allocation 13, %rdx\n"
    "  allocation 14, %rdi, 1\n  allocation 15, %rdi, 1\n"
    // realloc(old, size)
    "  .balign 64\n"
    "hook_10:\n"
    "  count_down 10, %rsi, 1\n"
    "  mov %edi, %eax\n"
    "  shr $5, %eax\n"
    "  and $0x7ffff, %eax\n"
    "  cmpb $0, " TEXT(FILTER) "-128(%r10,%rax)\n"
    "  jne slow_10\n"
    "  trampoline 10\n"
    "slow_10:\n"
    "  cmpl $0, blob_control(%rip)\n"
    "  je trampoline_10\n"
    "  enter\n"
    "  mov %rsi, %rdi\n"
    "  mov %rsp, %rsi\n"
    "  mov $10, %edx\n"
    "  call blob_is_due\n"
    "  mov %eax, %ebp\n"
    "  mov 96(%rsp), %rdi\n"
    "  call blob_begin_end\n"
    "  mov %rax, %r12\n"
    "  arguments\n"
    "  mov %ebp, %eax\n"
    "  or %r12, %rax\n"
    "  jz 1f\n"
    "  mov %rsi, %rbx\n"
    "  call trampoline_10\n"
    "  mov %rax, (%rsp)\n"
    "  mov %rsp, %rdi\n"
    "  mov %rbx, %rsi\n"
    "  mov %r12, %rdx\n"
    "  mov %ebp, %ecx\n"
    "  call blob_resized\n"
    "  mov 48(%rsp), %rbx\n  mov 40(%rsp), %rbp\n  mov 32(%rsp), %r12\n"
    "  mov (%rsp), %rax\n"
    "  leave_it\n"
    "  ret\n"
    "1:\n"
    "  mov 40(%rsp), %rbp\n  mov 32(%rsp), %r12\n"
    "  leave_it\n"
    "  jmp trampoline_10\n"
    // GC_free(object)
    "  .balign 64\n"
    "hook_16:\n"
    "  cmpl $0, blob_control(%rip)\n"
    "  je trampoline_16\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"
    "  sub $8, %rsp\n"
    "  lock incq blob_control+64(%rip)\n"
    "  call blob_free\n"
    "  lock decq blob_control+64(%rip)\n"
    "  add $8, %rsp\n"
    "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  trampoline 16\n"
    // free(memory)
    "  .balign 64\n"
    "hook_17:\n"
    "  mov %edi, %eax\n"
    "  shr $5, %eax\n"
    "  and $0x7ffff, %eax\n"
    "  lea blob_control+" TEXT(FILTER) "(%rip), %r10\n"
    "  cmpb $0, (%r10,%rax)\n"
    "  jne slow_17\n"
    "  trampoline 17\n"
    "slow_17:\n"
    "  push %rdi\n"
    "  lock incq blob_control+64(%rip)\n"
    "  call blob_release\n"
    "  lock decq blob_control+64(%rip)\n"
    "  pop %rdi\n"
    "  jmp trampoline_17\n"
    "  .balign 64\n"
    "handler:\n"
    "  lock incq blob_control+64(%rip)\n"
    "  sub $8, %rsp\n"
    "  call blob_event\n"
    "  add $8, %rsp\n"
    "  lock decq blob_control+64(%rip)\n"
    "  ret\n"
    "counted:\n"
    "  .text\n");

// The layout of the sample's frame.
enum { kResult, kR15, kR14, kR13, kR12, kRbp, kRbx, kR9, kR8, kRcx, kRdx, kRsi, kRdi, kReturn };
enum { kFirst = kRdi, kSecond = kRsi };  // the arguments

// Where the caller's stack begins.
static uint64_t stack_of(const uint64_t* frame) {
  return (uint64_t)(frame + kReturn + 1);
}

// What a leading hook has stored if it had the same caller.
static uint64_t leading_mark(const uint64_t* frame) {
  return frame[kReturn] ^ (uint64_t)(frame + kReturn);
}

static uint64_t thread_pointer(void) {
  uint64_t value;
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
}

// The number must be in the page that the thread pointer points into, or the memory there must
// point to itself, as it does in glibc.
static int can_read_number(const BlobControl* c, uint64_t thread, uint64_t at) {
  (void)c;
  const uint64_t in_page = thread & (kPage - 1);
  if (in_page > kPage - 24) return 0;
  return in_page + at + 4 <= kPage || *(const uint64_t*)(thread + 16) == thread;
}

static void copy_words(void* to, uint64_t from, uint64_t bytes) {
  uint64_t words = bytes / 8;
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

static void keep_registers(RingRecord* record, const uint64_t* frame) {
  record->rbx = frame[kRbx];
  record->r12 = frame[kR12];
  record->r13 = frame[kR13];
  record->r14 = frame[kR14];
  record->r15 = frame[kR15];
  record->frame_pointer = frame[kRbp];
}

// The address itself: on this processor, addresses carry no tags.
static uint64_t bare(uint64_t address) {
  return address;
}
