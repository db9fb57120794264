// Allocates in a loop and measures itself: "trace_loop SECONDS [THREADS]", with so many threads
// that wait. Prints its process ID, and at the end the median nanoseconds of processor time per
// allocation in rounds without and with a trace, and their numbers. Which of the two a round is, it
// sees by the first byte of the collector's function, which a jump or a uprobe replaces. With
// WITH_MALLOC, it allocates and frees with malloc instead, blocks of 16 to 515 bytes that it fills,
// of which 4096 are in use.

#ifndef WITH_MALLOC
#define GC_THREADS
#include <gc.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMostRounds = 1 << 16, kAllocations = 100000, kDepth = 10 };
#ifdef WITH_MALLOC
#define TRACED malloc
#else
#define TRACED GC_malloc_kind
void* GC_malloc_kind(size_t bytes, int kind);
#endif

static double at(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static unsigned char first_byte(void) {
  return *(const volatile unsigned char*)TRACED;
}

#ifdef WITH_MALLOC
__attribute__((noinline)) static void* make(void) {
  static void* used[4096];
  static unsigned random = 1;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  void** const slot = &used[random % 4096];
  const size_t bytes = 16 + (random >> 12) % 500;
  free(*slot);
  *slot = malloc(bytes);
  memset(*slot, 1, bytes);
  return *slot;
}
#else
__attribute__((noinline)) static void* make(void) {
  void* object = GC_MALLOC(32);
  __asm__ volatile("" : : "r"(object) : "memory");
  return object;
}
#endif

__attribute__((noinline)) static void work(int depth) {
  if (depth > 0) {
    work(depth - 1);
    __asm__ volatile("" : : : "memory");  // not a jump, which would leave no frame
    return;
  }
  for (int i = 0; i < kAllocations; ++i) make();
}

static void* wait_forever(void* unused) {
  for (;;) pause();
  return unused;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int count, char** words) {
  static double rounds[2][kMostRounds];
  int done[2] = {0, 0};
#ifndef WITH_MALLOC
  GC_INIT();
#endif
  const unsigned char original = first_byte();
  const double seconds = count > 1 ? atof(words[1]) : 10;
  const int threads = count > 2 ? atoi(words[2]) : 0;
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_forever, NULL) != 0) return 1;
  }
  printf("%d\n", getpid());
  fflush(stdout);
  const double end = at(CLOCK_MONOTONIC) + seconds * 1e9;
  while (at(CLOCK_MONOTONIC) < end) {
    const int before = first_byte() != original;
    const double begin = at(CLOCK_PROCESS_CPUTIME_ID);
    work(kDepth);
    const double time = (at(CLOCK_PROCESS_CPUTIME_ID) - begin) / kAllocations;
    if ((first_byte() != original) != before || done[before] == kMostRounds) continue;
    rounds[before][done[before]++] = time;
  }
  for (int i = 0; i < 2; ++i) qsort(rounds[i], (size_t)done[i], sizeof(double), compare);
  printf("%.3f %.3f %d %d\n", rounds[0][done[0] / 2], rounds[1][done[1] / 2], done[0], done[1]);
  return 0;
}
