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

long known_call_outside(void) {
  return getppid() + kept;
}
