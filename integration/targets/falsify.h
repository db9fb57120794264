// Shared by the programs that falsify their allocator's data: "PROGRAM HOW [SEED]" prints
// "ready done=1", or done=0 if it did not find what to change, and waits for the end of its
// standard input without allocating anything.

#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef uint64_t word;

static word seed;

static void set_seed(int count, char** words) {
  seed = count > 2 ? strtoull(words[2], NULL, 10) * 2654435761u + 1 : 1;
}

static word pick(word below) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed % below;
}

static void wait_for_end(int done) {
  printf("ready done=%d\n", done);
  fflush(stdout);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  _exit(0);
}
