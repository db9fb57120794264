// The Boehm collector at work all the time: some threads make, drop and check lists whose sum they
// know, and one thread collects without a pause. "collecting THREADS [incremental]".

#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLists = 64, kLength = 50 };

struct link {
  struct link* next;
  uint64_t value;
  uint64_t check;  // ~value
};

static atomic_long made;
static atomic_long bad;
static atomic_long collections_asked;

static struct link* make_list(uint64_t seed) {
  struct link* head = NULL;
  for (uint64_t i = 0; i < kLength; ++i) {
    struct link* link = GC_MALLOC(sizeof *link);
    link->next = head;
    link->value = seed + i;
    link->check = ~link->value;
    GC_end_stubborn_change(link);
    head = link;
  }
  atomic_fetch_add(&made, 1);
  return head;
}

static void check_list(const struct link* head, uint64_t seed) {
  uint64_t length = 0;
  for (const struct link* link = head; link != NULL; link = link->next) {
    ++length;
    if (link->value != seed + kLength - length || link->check != ~link->value) {
      atomic_fetch_add(&bad, 1);
      return;
    }
  }
  if (length != kLength) atomic_fetch_add(&bad, 1);
}

static void* mutate(void* number) {
  struct link* lists[kLists] = {0};
  uint64_t seeds[kLists] = {0};
  uint64_t state = (uint64_t)(uintptr_t)number * 0x9e3779b97f4a7c15u + 1;
  for (;;) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const unsigned at = (unsigned)(state >> 33) % kLists;
    if (lists[at] != NULL) check_list(lists[at], seeds[at]);
    seeds[at] = state >> 8;
    lists[at] = make_list(seeds[at]);
    // Allocates a large object now and then, so that the heap grows and blocks are split.
    if (state >> 57 == 0) memset(GC_MALLOC_ATOMIC(200000), 1, 200000);
  }
  return NULL;
}

static void* collect(void* unused) {
  (void)unused;
  for (;;) {
    GC_gcollect();
    atomic_fetch_add(&collections_asked, 1);
  }
  return NULL;
}

int main(int count, char** words) {
  if (count > 2 && strcmp(words[2], "incremental") == 0) GC_enable_incremental();
  GC_INIT();
  GC_allow_register_threads();
  const long mutators = count > 1 ? strtol(words[1], NULL, 10) : 1;
  pthread_t thread;
  for (long i = 0; i < mutators; ++i) {
    if (pthread_create(&thread, NULL, mutate, (void*)(uintptr_t)(i + 1)) != 0) return 1;
  }
  if (pthread_create(&thread, NULL, collect, NULL) != 0) return 1;
  while (atomic_load(&made) < 100 * mutators) sched_yield();
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("made=%ld bad=%ld collections=%lu asked=%ld\n", atomic_load(&made), atomic_load(&bad),
           (unsigned long)GC_get_gc_no(), atomic_load(&collections_asked));
    fflush(stdout);
  }
  _Exit(0);
}
