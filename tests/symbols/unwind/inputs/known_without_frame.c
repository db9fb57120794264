#include <unistd.h>

#include "tests/symbols/unwind/inputs/known_stack.h"

static volatile long kept;

__attribute__((noinline)) static long known_frameless_inner(known_visitor visit, void* context) {
  visit(context);
  return ++kept;
}

long known_without_frame(known_visitor visit, void* context) {
  return known_frameless_inner(visit, context) + 1;
}

// The loop never ends, so no code shows how the function would return.
long known_endless(known_visitor visit, void* context) {
  for (;;) {
    visit(context);
    ++kept;
  }
}

// Continues on another stack.
__asm__(
    ".text\n.globl known_switch\n.type known_switch, @function\n"
    "known_switch: push %rbp\n mov 8(%rdi), %rsp\n ret\n.size known_switch, . - known_switch\n");

// Saves three registers of its caller. The pushes after that do not count: r15 no longer has the
// caller's value, and r14 is pushed after the stack pointer has changed otherwise.
__asm__(
    ".text\n.globl known_pushes\n.type known_pushes, @function\n"
    "known_pushes: push %rbp\n mov %rsp, %rbp\n push %r15\n mov %edi, %r15d\n push %rbx\n"
    " push %r15\n sub $24, %rsp\n push %r14\n leave\n ret\n.size known_pushes, . - known_pushes\n");

long known_call_outside(void) {
  return getppid() + kept;
}
