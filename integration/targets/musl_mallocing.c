// Eight threads allocate and free with musl's malloc without a pause, in their own tables and in
// each other's. All allocations are in a table, except for those that a thread is just moving.
// Before that, the program forgets 100 allocations of 40 bytes. Prints
//     ready leaked=N
// and works until the end of its standard input.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 8, kSlots = 200, kLeaked = 100 };
static _Atomic(void*) slots[kThreads][kSlots];
static atomic_int started;

static unsigned below(unsigned* state, unsigned limit) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state % limit;
}

static void* allocate(unsigned* state) {
  const size_t small = 8 + below(state, 1200);
  switch (below(state, 64)) {
    case 0: return malloc(150000 + below(state, 100000));
    case 1: return aligned_alloc(256, 1024);
    case 2: return calloc(4, small);
    case 3: return malloc(2000 + below(state, 60000));
    default: return malloc(small);
  }
}

static void* work(void* argument) {
  const unsigned number = (unsigned)(size_t)argument;
  unsigned state = (number + 1) * 2654435761U + 1;
  started += 1;
  for (;;) {
    const unsigned of = below(&state, 8) == 0 ? below(&state, kThreads) : number;
    _Atomic(void*)* const slot = &slots[of][below(&state, kSlots)];
    void* taken = atomic_exchange(slot, NULL);
    if (taken != NULL && below(&state, 4) == 0) {
      taken = realloc(taken, 8 + below(&state, 3000));
    } else {
      free(taken);
      taken = allocate(&state);
    }
    free(atomic_exchange(slot, taken));
  }
  return NULL;
}

__attribute__((noinline)) static void forget(void) {
  for (int i = 0; i < kLeaked; ++i) memset(malloc(40), 1, 40);
}

__attribute__((noinline)) static void wipe_stack(void) {
  volatile char used[32768];
  memset((char*)used, 0, sizeof used);
}

int main(void) {
  forget();
  wipe_stack();
  for (size_t i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)i) != 0) return 1;
  }
  while (started < kThreads) usleep(1000);
  printf("ready leaked=%d\n", kLeaked);
  fflush(stdout);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  _exit(0);
}
