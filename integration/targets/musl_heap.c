// Allocates with musl's malloc in every possible way, from several threads, and knows its
// allocations: musl_heap [OBJECTS [library]]. Wrappers that the linker puts around malloc count
// them. With "library", the C library allocates, too, which the wrappers do not see in a shared
// program. It prints
//     ready in_use=N bytes=N zeros=N leaked=N leaked_bytes=N leaks=N last=N
// and waits for the end of its standard input. `in_use` counts the allocations that were not freed,
// `bytes` is their size as malloc_usable_size() returns it, and `zeros` counts those of 0 bytes.
// `leaked` counts the forgotten ones, and `leaks` those of them that no other leaked one
// references. `last` is the address of the last node of the list at `first`.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "musl_counter.h"

struct node {
  struct node* next;
  char* label;
  long number;
};
struct node* first;
void** table;
static long objects = 5000;
static long leaked, leaked_bytes;

static uint64_t state = 88172645463325252u;
static uint64_t below(uint64_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % limit;
}

static size_t some_size(void) {
  const uint64_t kind = below((uint64_t)objects);
  if (kind < 40) return 100000 + below(300000);
  if (kind < 1000) return below(60000);
  if (below(8) == 0) return below(5000);
  return below(300);
}

static void* some_memory(void) {
  const size_t bytes = some_size();
  switch (below(16)) {
    case 0: return aligned_alloc((size_t)32 << below(8), bytes);
    case 1: return calloc(1, bytes);
    default: return malloc(bytes);
  }
}

// Makes every kind of slot, frees some and uses them again, and makes size classes bounce.
static void fill_table(void) {
  table = malloc((size_t)objects * sizeof *table);
  for (long i = 0; i < objects; ++i) table[i] = some_memory();
  for (long i = 0; i < objects; ++i) {
    const uint64_t at = below((uint64_t)objects);
    if (below(3) == 0) {
      void* const moved = realloc(table[at], some_size() + 1);
      if (moved != NULL) table[at] = moved;
    } else {
      free(table[at]);
      table[at] = below(4) == 0 ? NULL : some_memory();
    }
  }
  for (int i = 0; i < 400; ++i) free(malloc(20000));
  for (int i = 0; i < 4; ++i) {  // alignments whose distance does not fit into 16 bits
    free(table[i]);
    table[i] = aligned_alloc((size_t)1 << (20 + i), 100000);
  }
}

__attribute__((noinline)) static void* forgotten(void* object) {
  ++leaked;
  leaked_bytes += (long)malloc_usable_size(object);
  return object;
}

static struct node* new_node(struct node* next) {
  struct node* const made = malloc(sizeof *made);
  *made = (struct node){next, NULL, 0};
  return made;
}

enum { kChains = 40, kCycles = 10, kLarge = 5 };

__attribute__((noinline)) static void leak(void) {
  for (int i = 0; i < kChains; ++i) {
    struct node* const head = forgotten(new_node(NULL));
    head->next = forgotten(new_node(NULL));
    head->next->label = memset(forgotten(malloc(100)), 0, 100);
  }
  for (int i = 0; i < kCycles; ++i) {
    struct node* const one = forgotten(new_node(NULL));
    one->next = forgotten(new_node(one));
  }
  for (int i = 0; i < kLarge; ++i) memset(forgotten(malloc(300000)), 0, 64);
}

static uintptr_t last;

static void hold(void) {
  for (int i = 0; i < 500; ++i) {
    first = new_node(first);
    if (i == 0) last = (uintptr_t)first;
    first->label = strcpy(malloc(sizeof "a label"), "a label");
  }
}

// Makes allocations that only the C library holds: functions to call at the end, a file, and the
// environment.
static void do_nothing(void) {}
static void hold_in_library(void) {
  for (int i = 0; i < 100; ++i) atexit(do_nothing);
  free(strdup("a text"));
  FILE* const file = fopen("/dev/null", "w");
  fputs("in a buffer", file);
  setenv("IN_THE_ENVIRONMENT", "a value", 1);
}

static pthread_key_t key;
static void hold_in_thread(void) {
  pthread_key_create(&key, NULL);
  pthread_setspecific(key, memset(malloc(77), 0, 77));
}

static _Thread_local void* volatile of_thread;
static atomic_int started;
static void* work(void* unused) {
  void* volatile on_stack[100];
  of_thread = malloc(48);
  pthread_setspecific(key, memset(malloc(56), 0, 56));
  for (int i = 0; i < 100; ++i) on_stack[i] = malloc(16 + (size_t)i * 13);
  for (int i = 0; i < 100; i += 4) {
    free(on_stack[i]);
    on_stack[i] = NULL;
  }
  started += 1;
  for (;;) pause();
  return unused;
}

__attribute__((noinline)) static void wipe_stack(void) {
  volatile char used[32768];
  memset((char*)used, 0, sizeof used);
}

int main(int count, char** words) {
  if (count > 1) objects = atol(words[1]);
  fill_table();
  hold();
  hold_in_thread();
  if (count > 2) hold_in_library();
  leak();
  wipe_stack();
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    if (i % 2 == 0) pthread_detach(thread);
  }
  while (started < 4) usleep(1000);
  printf("ready in_use=%ld bytes=%ld zeros=%ld leaked=%ld leaked_bytes=%ld leaks=%d last=%lu\n",
         atomic_load(&in_use), atomic_load(&bytes_in_use), atomic_load(&zeros), leaked,
         leaked_bytes, kChains + kCycles + kLarge, (unsigned long)last);
  last = 0;
  fflush(stdout);
  wipe_stack();
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  return 0;
}
