// Allocates from a few places, and knows how often. "allocating THREADS": each thread waits for
// "run ROUNDS", does that many rounds, and waits again. Each round makes objects of several sizes
// and kinds; one in ten of those with a finalizer stays reachable. "collect" runs collections until
// nothing more is finalized. Further arguments: with "free", the threads run without end; with
// "incremental", it collects in steps; with "handler", it has a function for the collector's
// events, which the command "handler" can also set later; with "oom", it has a function for when
// memory runs out; with "spawn", threads begin and end all the time. Commands: "fork" and "vfork"
// make a child and wait for it, and the child of "fork" allocates; "share" makes a child that
// shares the memory, and waits until "unshare" ends it; "exec" starts the program again, with
// "free"; "quit N" and "raise N" end it. With "shorten" or "swap=FILE", a process that shares its
// descriptors attacks the memory of a trace (sharing.h).

#define _GNU_SOURCE  // O_PATH and CLONE_FILES in sharing.h
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sharing.h"

#define SITE __attribute__((noinline))
enum { kKept = 4096, kMostThreads = 16 };

static atomic_long small, atomic, large, resized, finalizable, finalized, freed, rounds_done, bad,
    children, events;
static atomic_long rounds_wanted;
static void* kept[kMostThreads][kKept];

static void on_end(void* object, void* unused) {
  (void)object;
  (void)unused;
  atomic_fetch_add(&finalized, 1);
}

// The code after each allocation keeps the call from becoming a jump, which would leave no frame.
SITE static char* make_small(void) {
  char* object = GC_MALLOC(32);
  if (object[0] != 0 || object[31] != 0) atomic_fetch_add(&bad, 1);
  atomic_fetch_add(&small, 1);
  return object;
}

SITE static char* make_atomic(void) {
  char* object = GC_MALLOC_ATOMIC(200);
  memset(object, 1, 200);
  atomic_fetch_add(&atomic, 1);
  return object;
}

SITE static char* make_large(void) {
  char* object = GC_MALLOC(10000);
  if (object[9999] != 0) atomic_fetch_add(&bad, 1);
  atomic_fetch_add(&large, 1);
  return object;
}

SITE static char* make_resized(void) {
  char* object = GC_REALLOC(make_small(), 300);
  atomic_fetch_add(&resized, 1);
  return object;
}

SITE static void* make_finalizable(void) {
  void* object = GC_MALLOC(48);
  GC_register_finalizer_no_order(object, on_end, NULL, NULL, NULL);
  atomic_fetch_add(&finalizable, 1);
  return object;
}

SITE static void make_and_free(void) {
  GC_FREE(GC_MALLOC(64));
  atomic_fetch_add(&freed, 1);
}

static void do_round(long thread, long round) {
  void** const mine = kept[thread];
  mine[round % kKept] = make_small();
  mine[(round * 7) % kKept] = make_atomic();
  if (round % 16 == 0) make_large();
  if (round % 4 == 0) make_resized();
  if (round % 8 == 0) make_and_free();
  if (round % 32 == 0) {
    void* object = make_finalizable();
    if (round % 320 == 0) mine[(round / 320) % kKept] = object;
  }
}

static void* work(void* number) {
  const long thread = (long)number;
  for (long round = 0;; ++round) {
    while (round >= atomic_load(&rounds_wanted)) usleep(200);
    do_round(thread, round);
    atomic_fetch_add(&rounds_done, 1);
  }
  return NULL;
}

static void collect_all(void) {
  for (long before = -1; before != atomic_load(&finalized);) {
    before = atomic_load(&finalized);
    for (int i = 0; i < 3; ++i) GC_gcollect();
    GC_invoke_finalizers();
  }
}

static void* on_no_memory(size_t bytes) {
  (void)bytes;
  _exit(4);
}

static void on_event(GC_EventType event) {
  if (event == GC_EVENT_MARK_END) atomic_fetch_add(&events, 1);
}

SITE static char* make_in_child(void) {
  char* object = GC_MALLOC(32);
  if (object[0] != 0) _exit(2);
  return object;
}

// The allocations after the child's are the parent's.
static void count_child(pid_t child) {
  int status = -1;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) {
    atomic_fetch_add(&children, 1);
  } else {
    atomic_fetch_add(&bad, 1);
  }
}

static void* end_at_once(void* unused) {
  make_small();
  return unused;
}

static void* start_threads(void* unused) {
  for (;;) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, unused) == 0) pthread_join(thread, NULL);
  }
  return NULL;
}

static void fork_one(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 5000; ++i) make_in_child();
    _exit(0);
  }
  count_child(child);
}

static void vfork_one(void) {
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(3);
  }
  count_child(child);
}

static int wait_for_ever(void* unused) {
  (void)unused;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

static void share_memory(int is_shared) {
  static char stack[65536] __attribute__((aligned(16)));
  static pid_t child;
  if (is_shared) {
    child = clone(wait_for_ever, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    if (child < 0) atomic_fetch_add(&bad, 1);
    return;
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void do_command(const char* line) {
  if (strncmp(line, "run ", 4) == 0) atomic_fetch_add(&rounds_wanted, strtol(line + 4, NULL, 10));
  if (strncmp(line, "until ", 6) == 0) {
    while (atomic_load(&rounds_done) < strtol(line + 6, NULL, 10)) usleep(1000);
  }
  if (strncmp(line, "collect", 7) == 0) collect_all();
  if (strncmp(line, "handler", 7) == 0) GC_set_on_collection_event(on_event);
  if (strncmp(line, "fork", 4) == 0) fork_one();
  if (strncmp(line, "vfork", 5) == 0) vfork_one();
  if (strncmp(line, "share", 5) == 0) share_memory(1);
  if (strncmp(line, "unshare", 7) == 0) share_memory(0);
  if (strncmp(line, "quit ", 5) == 0) _Exit((int)strtol(line + 5, NULL, 10));
  if (strncmp(line, "raise ", 6) == 0) raise((int)strtol(line + 6, NULL, 10));
  if (strncmp(line, "exec", 4) == 0) execl("/proc/self/exe", "allocating", "1", "free", NULL);
}

static void report(void) {
  printf(
      "small=%ld atomic=%ld large=%ld resized=%ld finalizable=%ld finalized=%ld freed=%ld "
      "rounds=%ld bad=%ld total=%ld collections=%ld children=%ld events=%ld own_handler=%d "
      "swapped=%ld shortened=%ld refused=%ld\n",
      atomic_load(&small), atomic_load(&atomic), atomic_load(&large), atomic_load(&resized),
      atomic_load(&finalizable), atomic_load(&finalized), atomic_load(&freed),
      atomic_load(&rounds_done), atomic_load(&bad), (long)GC_get_total_bytes(),
      (long)GC_get_gc_no(), atomic_load(&children), atomic_load(&events),
      GC_get_on_collection_event() == on_event, sharer == NULL ? 0 : atomic_load(&sharer->swapped),
      sharer == NULL ? 0 : atomic_load(&sharer->shortened),
      sharer == NULL ? 0 : atomic_load(&sharer->refused));
  fflush(stdout);
}

int main(int count, char** words) {
  for (int i = 2; i < count; ++i) {
    if (strcmp(words[i], "shorten") == 0) start_sharer(NULL);
    if (strncmp(words[i], "swap=", 5) == 0) start_sharer(words[i] + 5);
  }
  GC_set_handle_fork(1);
  GC_INIT();
  GC_allow_register_threads();
  const long threads = count > 1 ? strtol(words[1], NULL, 10) : 1;
  if (threads > kMostThreads) return 1;
  int spawners = 0;
  for (int i = 2; i < count; ++i) {
    if (strcmp(words[i], "free") == 0) atomic_store(&rounds_wanted, 1L << 60);
    if (strcmp(words[i], "spawn") == 0) spawners = 2;
    if (strcmp(words[i], "incremental") == 0) GC_enable_incremental();
    if (strcmp(words[i], "oom") == 0) GC_set_oom_fn(on_no_memory);
    if (strcmp(words[i], "handler") == 0) GC_set_on_collection_event(on_event);
  }
  for (long i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)i) != 0) return 1;
  }
  for (; spawners > 0; --spawners) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, start_threads, NULL) != 0) return 1;
  }
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    do_command(line);
    report();
  }
  _Exit(0);
}
