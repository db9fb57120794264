// A small collector in a program: functions that use its tables, a function that only these call, a
// hook for more roots that the program may replace, and the program's own code. Read by
// collector_code_test.cpp.

#define NOINLINE __attribute__((noinline))

long arrays[64];  // the collector's tables
long hint;        // used by get_memory() alone
long limit = 7;   // set by the program, used by the collector
long mine;        // the program's

static NOINLINE long get_memory(long bytes) {
  const long at = hint;
  hint += bytes + 1;
  return at;
}

#define USER(n)                    \
  NOINLINE long user_##n(long i) { \
    return arrays[n] += i + limit; \
  }
#define FOUR_USERS(n) USER(n##0) USER(n##1) USER(n##2) USER(n##3)
FOUR_USERS(1);
FOUR_USERS(2);
FOUR_USERS(3);
FOUR_USERS(4);
FOUR_USERS(5);
FOUR_USERS(6);

NOINLINE void fail(const char* text) {
  arrays[2] = text[0];
}

NOINLINE void push_stacks(void) {
  if (arrays[1] == limit) fail("Collecting from unknown thread");
  ++arrays[1];
}

void push_default(void) {
  push_stacks();
}

void (*hook)(void) = push_default;

NOINLINE void push_roots(void) {
  arrays[3] += get_memory(arrays[4]);
  if (hook) hook();
}

NOINLINE long expand(long bytes) {
  return arrays[5] += get_memory(bytes);
}

NOINLINE void push_own(void) {
  ++mine;
}

// The program.
void _start(void) {
  mine += user_10(1) + user_20(2) + expand(3);
  limit = mine;
  if (mine == 99) hook = push_own;
  push_roots();
  for (;;) {
  }
}
