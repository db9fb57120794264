// The hooks of aarch64, and how they call the rest of the recorder (recorder.c includes this).
//
// The entries keep a first instruction that marks where indirect branches may lead to (bti c,
// paciasp). If it signs the return address, the hook's first instruction undoes that, and the
// trampoline does it again: so the return address is always as the caller left it.
//
// No thread comes here by an indirect branch except into the handler. Our pages are not mapped with
// PROT_BTI, so nothing here needs a mark.
//
// Registers: a function may change x9 to x17 and the flags before it has done anything. The
// arguments x0 to x7 and x8 (the place of a large result) are restored. x18 may be the program's
// own, so the compiler does not use it. Vector registers are not touched, and so neither are the
// arguments in v0 to v7.

// The frame of a sample is, in words from the stack pointer: the result, the return address, x29,
// x19 to x28, x0 to x8. The rest is as on x86-64 (entered_x86_64.h). But the count of a slot takes
// three instructions. A signal handler that allocates between them loses its own bytes, or the
// thread's; if every allocation is recorded, the count is below 0 in any case.
//
// `inside` needs no memory barrier: only the tracer reads it, while all threads are stopped by
// the kernel. A thread is outside of it only at instructions that follow no call (removal.cpp).
__asm__(
    "  .section .blob, \"ax\", %progbits\n"
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
    "  .fill 2048 - (. - blob_head), 1, 0\n"
    "  .macro trampoline n\n"
    "trampoline_\\n: .fill 16, 4, 0xd4200000\n"  // brk #0
    "  .endm\n"
    // Adds to `inside`. Any processor has these two instructions.
    "  .macro count_inside by\n"
    "  adrp x9, blob_control\n"
    "  add x9, x9, #64\n"
    "9:\n"
    "  ldxr x10, [x9]\n"
    "  add x10, x10, #\\by\n"
    "  stxr w11, x10, [x9]\n"
    "  cbnz w11, 9b\n"
    "  .endm\n"
    "  .macro enter\n"
    "  sub sp, sp, #176\n"
    "  stp x30, x29, [sp, #8]\n"
    "  stp x19, x20, [sp, #24]\n  stp x21, x22, [sp, #40]\n  stp x23, x24, [sp, #56]\n"
    "  stp x25, x26, [sp, #72]\n  stp x27, x28, [sp, #88]\n"
    "  stp x0, x1, [sp, #104]\n  stp x2, x3, [sp, #120]\n  stp x4, x5, [sp, #136]\n"
    "  stp x6, x7, [sp, #152]\n  str x8, [sp, #168]\n"
    "  count_inside 1\n"
    "  .endm\n"
    "  .macro leave_it\n"
    "  count_inside -1\n"
    "  ldr x30, [sp, #8]\n"
    "  add sp, sp, #176\n"
    "  .endm\n"
    "  .macro arguments\n"
    "  ldp x0, x1, [sp, #104]\n  ldp x2, x3, [sp, #120]\n  ldp x4, x5, [sp, #136]\n"
    "  ldp x6, x7, [sp, #152]\n  ldr x8, [sp, #168]\n"
    "  .endm\n"
    // Jumps to the second address if the blob is off.
    "  .macro unless_on otherwise\n"
    "  adrp x9, blob_control\n"
    "  ldr w9, [x9]\n"
    "  cbz w9, \\otherwise\n"
    "  .endm\n"
    // Jumps to slow_n if a sample is due. The first instruction may be replaced: see above.
    "  .macro count_down n, size, leads\n"
    "  mrs x9, tpidr_el0\n"
    "  adrp x10, blob_control\n"
    "  ubfx x11, x9, #12, #10\n"  // the slot of this thread
    "  .if \\leads\n"
    "  mov x12, sp\n"
    "  eor x12, x12, x30\n"
    "  add x13, x10, x11, lsl #3\n"
    "  str x12, [x13, #16512]\n"
    "  .endif\n"
    "  add x10, x10, x11, lsl #4\n"
    "  ldr x11, [x10, #128]\n"
    "  cmp x11, x9\n"
    "  b.ne slow_\\n\n"
    "  ldr x11, [x10, #136]\n"
    "  subs x11, x11, \\size\n"
    "  str x11, [x10, #136]\n"
    "  b.mi slow_\\n\n"
    "  .endm\n"
    // Jumps to slow_n if the address in x0 may be a sample of malloc.
    "  .macro look_up n\n"
    "  ubfx x9, x0, #5, #19\n"
    "  adrp x10, blob_control + " TEXT(FILTER) "\n"
    "  add x10, x10, :lo12:(blob_control + " TEXT(FILTER) ")\n"
    "  ldrb w9, [x10, x9]\n"
    "  cbnz w9, slow_\\n\n"
    "  .endm\n"
    "  .macro allocation n, size, leads=0, multiplies=0\n"
    "  .balign 64\n"
    "hook_\\n:\n"
    "  nop\n"
    "  .if \\multiplies\n"
    "  mul \\size, x0, x1\n"
    "  .endif\n"
    "  count_down \\n, \\size, \\leads\n"
    "  trampoline \\n\n"
    "slow_\\n:\n"
    "  unless_on trampoline_\\n\n"
    "  enter\n"
    "  mov x0, \\size\n"
    "  mov x1, sp\n"
    "  mov w2, #\\n\n"
    "  bl blob_is_due\n"
    "  mov w9, w0\n"
    "  arguments\n"
    "  cbz w9, 1f\n"
    "  .if \\multiplies\n"
    "  mul \\size, x0, x1\n"
    "  .endif\n"
    "  mov x19, \\size\n"
    "  bl trampoline_\\n\n"
    "  str x0, [sp]\n"
    "  mov x0, sp\n"
    "  mov x1, x19\n"
    "  mov w2, #\\n\n"
    "  bl blob_sample\n"
    "  ldr x19, [sp, #24]\n"
    "  ldr x0, [sp]\n"
    "  leave_it\n"
    "  ret\n"
    "1:\n"
    "  leave_it\n"
    "  b trampoline_\\n\n"
    "  .endm\n"
    "  allocation 0, x0\n  allocation 1, x0\n  allocation 2, x0\n  allocation 3, x0\n"
    "  allocation 4, x0\n  allocation 5, x0, 1\n  allocation 6, x0, 1\n  allocation 7, x1\n"
    "  allocation 8, x0\n  allocation 9, x14, 0, 1\n"
    "  allocation 11, x1, 1\n  allocation 12, x1, 1\n  allocation 13, x2\n"
    "  allocation 14, x0, 1\n  allocation 15, x0, 1\n"
    // realloc(old, size)
    "  .balign 64\n"
    "hook_10:\n"
    "  nop\n"
    "  count_down 10, x1, 1\n"
    "  look_up 10\n"
    "  trampoline 10\n"
    "slow_10:\n"
    "  unless_on trampoline_10\n"
    "  enter\n"
    "  mov x0, x1\n"
    "  mov x1, sp\n"
    "  mov w2, #10\n"
    "  bl blob_is_due\n"
    "  mov w19, w0\n"
    "  ldr x0, [sp, #104]\n"
    "  bl blob_begin_end\n"
    "  mov x20, x0\n"
    "  arguments\n"
    "  orr x9, x19, x20\n"
    "  cbz x9, 1f\n"
    "  mov x21, x1\n"
    "  bl trampoline_10\n"
    "  str x0, [sp]\n"
    "  mov x0, sp\n"
    "  mov x1, x21\n"
    "  mov x2, x20\n"
    "  mov w3, w19\n"
    "  bl blob_resized\n"
    "  ldp x19, x20, [sp, #24]\n"
    "  ldr x21, [sp, #40]\n"
    "  ldr x0, [sp]\n"
    "  leave_it\n"
    "  ret\n"
    "1:\n"
    "  ldp x19, x20, [sp, #24]\n"
    "  leave_it\n"
    "  b trampoline_10\n"
    // GC_free(object)
    "  .balign 64\n"
    "hook_16:\n"
    "  nop\n"
    "  unless_on trampoline_16\n"
    "  enter\n"
    "  bl blob_free\n"
    "  arguments\n"
    "  leave_it\n"
    "  trampoline 16\n"
    // free(memory)
    "  .balign 64\n"
    "hook_17:\n"
    "  nop\n"
    "  look_up 17\n"
    "  trampoline 17\n"
    "slow_17:\n"
    "  enter\n"
    "  bl blob_release\n"
    "  arguments\n"
    "  leave_it\n"
    "  b trampoline_17\n"
    "  .balign 64\n"
    "handler:\n"
    "  stp x29, x30, [sp, #-16]!\n"
    "  count_inside 1\n"
    "  bl blob_event\n"
    "  count_inside -1\n"
    "  ldp x29, x30, [sp], #16\n"
    "  ret\n"
    "counted:\n"
    "  .text\n");

// The layout of the sample's frame.
enum { kResult, kReturn, kX29, kX19, kX0 = kX19 + 10, kFrameWords = kX0 + 9 };
enum { kFirst = kX0, kSecond = kX0 + 1 };  // the arguments
_Static_assert(kFrameWords == 22, "in the assembly above");

// Where the caller's stack begins.
static uint64_t stack_of(const uint64_t* frame) {
  return (uint64_t)(frame + kFrameWords);
}

// What a leading hook has stored if it had the same caller.
static uint64_t leading_mark(const uint64_t* frame) {
  return frame[kReturn] ^ stack_of(frame);
}

static uint64_t thread_pointer(void) {
  uint64_t value;
  __asm__("mrs %0, tpidr_el0" : "=r"(value));
  return value;
}

// The C libraries keep their structure of a thread between its stack and its thread pointer, and
// nothing in it points to itself. The number is therefore read only where memory is known to be
// mapped: in the page of the thread pointer, in the first thread's memory, which stays mapped, or
// in memory below a thread pointer that was seen from outside, which stays mapped while that
// thread runs.
static int can_read_number(const BlobControl* c, uint64_t thread, uint64_t at) {
  const uint64_t number = thread + at;
  if (number >> 12 == thread >> 12 || thread == c->first_thread) return 1;
  const BlobSpan* const span = &c->spans[span_of(thread)];
  const uint64_t known = __atomic_load_n(&span->end, __ATOMIC_ACQUIRE);
  const uint64_t begin = __atomic_load_n(&span->begin, __ATOMIC_ACQUIRE);
  return known == thread && __atomic_load_n(&span->end, __ATOMIC_RELAXED) == thread &&
         number >= begin && number < thread;
}

static void copy_words(void* to, uint64_t from, uint64_t bytes) {
  volatile uint64_t* const words = (volatile uint64_t*)to;
  for (uint64_t i = 0; i < bytes / 8; ++i) words[i] = ((const volatile uint64_t*)from)[i];
}

static void keep_registers(RingRecord* record, const uint64_t* frame) {
  for (int i = 0; i < 10; ++i) record->x19_to_x28[i] = frame[kX19 + i];
  record->frame_pointer = frame[kX29];
}

// An address without its tag, which the processor ignores.
static uint64_t bare(uint64_t address) {
  return address & (((uint64_t)1 << 56) - 1);
}
