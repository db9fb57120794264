// A program that leaks, and then ends with a core file in the handler of a signal that interrupted
// a function without a frame. It prints what it has leaked.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { kKept = 1000, kLost = 300, kLostBytes = 200 };

struct item {
  struct item* next;
  char rest[88];
};

struct item* kept;

static void handler(int signal) {
  (void)signal;
  abort();
}

__attribute__((noinline)) static void without_frame(volatile int* at) {
  *at = 1;
}

int main(void) {
  for (int i = 0; i < kKept; ++i) {
    struct item* one = malloc(sizeof *one);
    one->next = kept;
    kept = one;
  }
  for (int i = 0; i < kLost; ++i) *(char*)malloc(kLostBytes) = 1;
  printf("leaked %d objects\n", kLost);
  fflush(stdout);
  signal(SIGSEGV, handler);
  without_frame((int*)8);
  puts("not reached");
  return 0;
}
