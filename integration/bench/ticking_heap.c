/* A heap for measuring pauses: ticking_heap MEGABYTES [huge] fills that much with objects of 4 KiB,
 * or of 256 KiB in huge pages, and has a thread that notes the time every 100 microseconds.
 *
 * Prints "ready" and answers each line on standard input with one line:
 *   gap   the longest time between two notes since last asked, in milliseconds
 *   fork  how long fork(2) of this process takes the thread that calls it, and the longest gap
 *         meanwhile, in milliseconds
 */
#define GC_THREADS
#include <gc.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kObjectBytes = 4096, kLargeObjectBytes = 256 << 10, kTickNanoseconds = 100000 };

static uint64_t* newest;
static _Atomic uint64_t longest_ns;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void* tick(void* unused) {
  uint64_t last = now_ns();
  for (;;) {
    const struct timespec moment = {0, kTickNanoseconds};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    const uint64_t now = now_ns();
    if (now - last > atomic_load(&longest_ns)) atomic_store(&longest_ns, now - last);
    last = now;
  }
  return unused;
}

static double take_gap(void) {
  const struct timespec moment = {0, 20 * kTickNanoseconds};
  nanosleep(&moment, NULL); /* for the tick that ends a gap */
  return (double)atomic_exchange(&longest_ns, 0) / 1e6;
}

static double time_fork(void) {
  const uint64_t before = now_ns();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const double took = (double)(now_ns() - before) / 1e6;
  waitpid(child, NULL, 0);
  return took;
}

/* Has the collector reserve so much, and the kernel use huge pages for it. */
static int reserve_huge(uint64_t bytes) {
  char line[512];
  FILE* maps;
  if (!GC_expand_hp(bytes) || (maps = fopen("/proc/self/maps", "re")) == NULL) return 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    uintptr_t first;
    uintptr_t last;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw", &first, &last) != 2) continue;
    if (last - first < bytes / 16) continue;
    if (madvise((void*)first, last - first, MADV_HUGEPAGE) != 0) return 0;
  }
  fclose(maps);
  return 1;
}

int main(int argc, char** argv) {
  char line[64];
  pthread_t thread;
  const uint64_t megabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  if (megabytes == 0) {
    fprintf(stderr, "usage: ticking_heap MEGABYTES [huge]\n");
    return 2;
  }
  GC_INIT();
  const int is_huge = argc > 2;
  const size_t object_bytes = is_huge ? kLargeObjectBytes : kObjectBytes;
  if (is_huge && !reserve_huge((megabytes + megabytes / 8) << 20)) return 1;
  for (uint64_t i = 0; i < (megabytes << 20) / object_bytes; ++i) {
    uint64_t* made = GC_MALLOC(object_bytes - 1); /* one byte is the collector's */
    if (made == NULL) return 1;
    for (size_t word = 1; word < object_bytes / sizeof *made - 1; ++word) made[word] = i % 1000;
    made[0] = (uint64_t)(uintptr_t)newest;
    newest = made;
  }
  if (GC_pthread_create(&thread, NULL, tick, NULL) != 0) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "gap") == 0) {
      printf("%.3f\n", take_gap());
    } else if (strcmp(line, "fork") == 0) {
      take_gap();
      const double took = time_fork();
      printf("%.3f %.3f\n", took, take_gap());
    } else {
      printf("what?\n");
    }
  }
  return 0;
}
