// Threads whose stacks cannot be walked, each for another reason, and two with sound stacks. Prints
// "ready" when all of them wait.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_state.h"

// Functions that wait for ever with a given stack and frame pointer. Each has a label after a call
// that is never made, for return addresses. The first function has no tables.
__asm__(
    ".text\n.type wait_without, @function\nwait_without:\n"
    "  mov %rdi, %rsp\n  mov %rsi, %rbp\n"
    "1: mov $34, %eax\n  syscall\n  jmp 1b\n"
    "  call wait_without\nwait_without_back:\n  nop\n"
    ".size wait_without, . - wait_without\n");
// The tables of the other functions are wrong.
#define LIAR(name, directives)                      \
  __asm__(".text\n.type " name ", @function\n" name \
          ":\n"                                     \
          ".cfi_startproc simple\n" directives      \
          "  mov %rdi, %rsp\n  mov %rsi, %rbp\n"    \
          "1: mov $34, %eax\n  syscall\n  jmp 1b\n" \
          "  call " name "\n" name                  \
          "_back:\n  nop\n"                         \
          ".cfi_endproc\n.size " name ", . - " name "\n")
// By this table, the caller's stack begins where this one does.
LIAR("wait_in_place", ".cfi_def_cfa rsp, 0\n.cfi_offset rip, 0\n");
// By this table, the caller's stack is below this one.
LIAR("wait_below", ".cfi_def_cfa rsp, -64\n.cfi_offset rip, 64\n");
// This table has an expression that never ends: DW_OP_skip to itself.
LIAR("wait_in_loop", ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n.cfi_offset rip, 0\n");
// This expression reads invalid memory: DW_OP_const8u …, DW_OP_deref.
LIAR("wait_nowhere",
     ".cfi_escape 0x0f, 10, 0x0e, 1, 2, 3, 4, 5, 6, 7, 0x80, 0x06\n.cfi_offset rip, 0\n");
// This expression lacks the operands of its operation: DW_OP_plus.
LIAR("wait_empty", ".cfi_escape 0x0f, 1, 0x22\n.cfi_offset rip, 0\n");
// By this table, a signal has interrupted each frame at the same place.
LIAR("wait_signalled",
     ".cfi_signal_frame\n.cfi_def_cfa rsp, 0\n.cfi_offset rip, 0\n.cfi_same_value rsp\n");
// This table is right, but the stack seems endless: every second word is the same return address.
LIAR("wait_again", ".cfi_def_cfa rsp, 16\n.cfi_offset rip, -16\n");

typedef void (*wait_function)(void* stack, void* frame);
extern void wait_without(void*, void*) __asm__("wait_without");
extern void wait_in_place(void*, void*) __asm__("wait_in_place");
extern void wait_below(void*, void*) __asm__("wait_below");
extern void wait_in_loop(void*, void*) __asm__("wait_in_loop");
extern void wait_nowhere(void*, void*) __asm__("wait_nowhere");
extern void wait_empty(void*, void*) __asm__("wait_empty");
extern void wait_signalled(void*, void*) __asm__("wait_signalled");
extern void wait_again(void*, void*) __asm__("wait_again");
extern const char back_without[] __asm__("wait_without_back");
extern const char back_in_place[] __asm__("wait_in_place_back");
extern const char back_signalled[] __asm__("wait_signalled_back");
extern const char back_again[] __asm__("wait_again_back");

enum { kWords = 1 << 16, kCode = 1 };

struct way {
  const char* name;
  wait_function wait;  // null: on a sound stack
  const void* back;    // the value of every second word of the stack; null: zero
  uintptr_t stack;     // the stack pointer; 0: the thread's own; kCode: the address of code
  enum { NO_FRAME, ITSELF, IN_TURN, BEHIND } frame;
  atomic_int tid;
};

static struct way ways[] = {
    {.name = "circle", .wait = wait_without, .frame = ITSELF},
    {.name = "turns", .wait = wait_without, .frame = IN_TURN},
    {.name = "no-stack", .wait = wait_without, .stack = 16},
    {.name = "no-address", .wait = wait_without, .stack = 0xdead000000000000},
    {.name = "code-stack", .wait = wait_without, .stack = kCode},
    {.name = "guesses", .wait = wait_without, .back = back_without},
    {.name = "zeroes", .wait = wait_without, .frame = BEHIND},
    {.name = "in-place", .wait = wait_in_place, .back = back_in_place},
    {.name = "below", .wait = wait_below, .back = back_in_place},
    {.name = "loop", .wait = wait_in_loop, .back = back_without},
    {.name = "nowhere", .wait = wait_nowhere, .back = back_without},
    {.name = "empty", .wait = wait_empty, .back = back_without},
    {.name = "signalled", .wait = wait_signalled, .back = back_signalled},
    {.name = "again", .wait = wait_again, .back = back_again},
    {.name = "no-stack-lie", .wait = wait_again, .stack = 4096},
    {.name = "sound"},
};
enum { kWays = sizeof ways / sizeof ways[0] };

static void stand_on_sound_stack(void) {
  for (;;) pause();
}

static void* run(void* argument) {
  struct way* const way = argument;
  pthread_setname_np(pthread_self(), way->name);
  uintptr_t* const words = mmap(NULL, kWords * sizeof(uintptr_t), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (words == MAP_FAILED) return NULL;
  uintptr_t* const middle = words + kWords / 2;
  if (way->back != NULL) {
    for (int i = 0; i < kWords; i += 2) words[i] = (uintptr_t)way->back;
  }
  // The walk must end here: the memory after the stack is another thread's, or unmapped.
  if (way->back != NULL) words[kWords - 2] = 1;
  uintptr_t* const frame = middle + 65;
  if (way->frame == ITSELF || way->frame == IN_TURN) {
    frame[1] = (uintptr_t)back_without;
    frame[65] = (uintptr_t)back_without;
  }
  if (way->frame == ITSELF) frame[0] = (uintptr_t)frame;
  if (way->frame == IN_TURN) {
    frame[0] = (uintptr_t)(frame + 64);
    frame[64] = (uintptr_t)frame;
  }
  if (way->stack == kCode) way->stack = (uintptr_t)back_without;
  atomic_store(&way->tid, (int)syscall(SYS_gettid));
  if (way->wait == NULL) stand_on_sound_stack();
  void* const stack = way->stack != 0 ? (void*)way->stack : (void*)middle;
  way->wait(stack, way->frame == NO_FRAME ? NULL : (void*)frame);
  return NULL;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < kWays; ++i) pthread_create(&thread, NULL, run, &ways[i]);
  for (int i = 0; i < kWays; ++i) {
    while (atomic_load(&ways[i].tid) == 0 || state_of_thread(ways[i].tid) != 'S') usleep(1000);
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
