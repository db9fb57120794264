/* Threads for measuring pauses: ticking_threads COUNT starts that many, each of which waits some
 * calls deep, and one that notes the time every 100 microseconds.
 *
 * Prints "ready" and answers each line on standard input with the longest time between two notes
 * since last asked, in milliseconds. Linked with the units of many_types.py, it has as much debug
 * information as large programs.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kTickNanoseconds = 100000, kDepth = 10 };

static _Atomic uint64_t longest_ns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile int ended;

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

__attribute__((noinline)) static int wait_below(int depth) {
  if (depth > 0) return wait_below(depth - 1) + ended;
  pthread_mutex_lock(&mutex);
  while (!ended) pthread_cond_wait(&never, &mutex);
  pthread_mutex_unlock(&mutex);
  return 0;
}

static void* stand(void* unused) {
  wait_below(kDepth);
  return unused;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t thread;
  char line[64];
  if (count <= 0) {
    fprintf(stderr, "usage: ticking_threads COUNT\n");
    return 2;
  }
  for (int i = 0; i < count; ++i) {
    if (pthread_create(&thread, NULL, stand, NULL) != 0) return 1;
  }
  if (pthread_create(&thread, NULL, tick, NULL) != 0) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    const struct timespec moment = {0, 20 * kTickNanoseconds};
    nanosleep(&moment, NULL); /* for the tick that ends a gap */
    printf("%.3f\n", (double)atomic_exchange(&longest_ns, 0) / 1e6);
  }
  return 0;
}
