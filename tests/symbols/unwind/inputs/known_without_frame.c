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

// Nothing shows how it would return.
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

long known_call_outside(void) {
  return getppid() + kept;
}
