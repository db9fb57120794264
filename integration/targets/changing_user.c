// Allocates all the time, and changes its rights on request: "user" makes all threads run as user
// 1000, "capabilities" drops all capabilities, and "undumpable" forbids others to look at it. It
// answers "uid=N made=N", where `made` counts allocations.

#define _GNU_SOURCE
#define GC_THREADS
#include <gc.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long made;
static void* volatile kept[64];

static void* allocate(void* nothing) {
  for (long i = 0;; ++i) {
    kept[i % 64] = GC_MALLOC(32 + i % 100);
    atomic_fetch_add(&made, 1);
    usleep(200);
  }
  return nothing;
}

static void drop_capabilities(void) {
  struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  if (syscall(SYS_capset, &head, none) != 0) abort();
}

int main(void) {
  char line[64];
  pthread_t thread;
  GC_INIT();
  if (pthread_create(&thread, NULL, allocate, NULL) != 0) return 1;
  while (atomic_load(&made) == 0) usleep(1000);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    // glibc sends the other threads a signal, so that they change their user, too.
    if (strcmp(line, "user\n") == 0 && setresuid(1000, 1000, 1000) != 0) abort();
    if (strcmp(line, "capabilities\n") == 0) drop_capabilities();
    if (strcmp(line, "undumpable\n") == 0) prctl(PR_SET_DUMPABLE, 0);
    printf("uid=%d made=%ld\n", (int)getuid(), atomic_load(&made));
    fflush(stdout);
  }
  return 0;
}
