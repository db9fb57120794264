// Allocates without end, always by the same calls, through frames of several kinds: with a large
// array, with one of variable length, recursive, inlined, and through a pointer to a function.

#include <gc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static volatile int zero;

KEPT static char* innermost(size_t bytes) {
  char* object = GC_MALLOC(bytes);
  object[0] = 1;
  return object;
}

static inline __attribute__((always_inline)) char* inlined(size_t bytes) {
  char* object = innermost(bytes + (size_t)zero);
  object[1] = 2;
  return object;
}

KEPT static char* with_array(size_t bytes) {
  char room[3000];
  memset(room, zero, sizeof room);
  char* object = inlined(bytes + (size_t)room[zero]);
  object[2] = room[zero + 1];
  return object;
}

KEPT static char* with_variable_array(size_t bytes, int count) {
  char room[count];
  memset(room, zero, (size_t)count);
  char* object = with_array(bytes + (size_t)room[zero]);
  object[3] = room[zero];
  return object;
}

KEPT static char* recursive(int depth, size_t bytes) {
  char* object = depth == 0 ? with_variable_array(bytes, 100 + zero) : recursive(depth - 1, bytes);
  object[4] = (char)depth;
  return object;
}

typedef char* (*Maker)(int depth, size_t bytes);
static Maker volatile maker = recursive;

KEPT static int round_of(int depth) {
  char* object = maker(depth, 64);
  return object[0] + object[4];
}

int main(void) {
  GC_INIT();
  printf("ready\n");
  fflush(stdout);
  long sum = 0;
  for (;;) {
    for (int i = 0; i < 100; ++i) sum += round_of(3);
    usleep(1000 + (useconds_t)(sum & 1));
  }
}
