// Has a heap of the collector and a heap of musl's malloc, with references in both directions, and
// knows what is in them: musl_both [THREADS]. No collection happens after "ready". It prints
//     ready gc_heap=N gc_free=N in_use=N bytes=N leaked=N leaked_bytes=N leaks=N text=N
// and waits for the end of its standard input. `gc_heap` and `gc_free` are the collector's own
// numbers. `in_use` counts the allocations of malloc that were not freed, and `bytes` is their
// size; wrappers that the linker puts around malloc count both. `leaked` counts the allocations
// that nothing alive references, and `leaks` those of them that no other leaked one references.
// `text` is the address of an allocation that only an object of the collector references. THREADS
// threads allocate from both heaps all the time, and keep nothing.
#define _GNU_SOURCE
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "musl_counter.h"

struct session {
  struct session* next;
  struct buffer* buffer;
  void* hidden;  // an atomic object of the collector, which contains a pointer to malloc's memory
  uint64_t number;
};
struct buffer {
  char* text;
  struct session* owner;
};
struct item {
  struct item* next;
  struct session* session;
};

struct session* sessions;
struct item* items;
static long leaked, leaked_bytes, leaks;

static void* forgotten(void* at) {
  leaked += 1;
  leaked_bytes += (long)malloc_usable_size(at);
  return at;
}

__attribute__((noinline)) static void build(void) {
  for (int i = 0; i < 500; ++i) {
    struct session* const session = GC_MALLOC(sizeof *session);
    session->next = sessions;
    session->number = (uint64_t)i;
    session->buffer = malloc(sizeof *session->buffer);
    session->buffer->owner = session;
    session->buffer->text = calloc(1, 100 + (size_t)i % 9);
    if (i < 20) {
      char** const hidden = GC_MALLOC_ATOMIC(64);
      memset(hidden, 0, 64);
      hidden[3] = calloc(1, 300);
      session->hidden = hidden;
    }
    sessions = session;
  }
  for (int i = 0; i < 150; ++i) {
    struct item* const item = malloc(sizeof *item);
    item->next = items;
    item->session = GC_MALLOC_UNCOLLECTABLE(sizeof *item->session);
    items = item;
  }
}

__attribute__((noinline)) static void forget(void) {
  for (int i = 0; i < 30; ++i) {
    struct buffer* const buffer = forgotten(malloc(sizeof *buffer));
    buffer->owner = NULL;
    buffer->text = forgotten(calloc(1, 100));
    leaks += 1;
    __asm__ volatile("" : : "r"(buffer) : "memory");
  }
  for (int i = 0; i < 300; ++i) {  // by garbage of the collector
    struct session* const session = GC_MALLOC(sizeof *session);
    session->buffer = forgotten(calloc(1, sizeof *session->buffer));
    leaks += 1;
    __asm__ volatile("" : : "r"(session) : "memory");
  }
  for (int i = 0; i < 4; ++i) {  // cycles across the two heaps
    struct session* const session = GC_MALLOC(sizeof *session);
    session->buffer = forgotten(calloc(1, sizeof *session->buffer));
    session->buffer->owner = session;
    leaks += 1;
    __asm__ volatile("" : : "r"(session) : "memory");
  }
}

// Overwrites what was left on the stack.
__attribute__((noinline)) static void wipe_stack(void) {
  volatile char used[65536];
  for (size_t i = 0; i < sizeof used; ++i) used[i] = 0;
}

static void* allocate(void* unused) {
  for (unsigned i = 0;; ++i) {
    void* const at = malloc(16 + i * 7 % 1000);
    void* volatile collected = GC_MALLOC(16 + i * 13 % 500);
    (void)collected;
    free(at);
  }
  return unused;
}

int main(int count, char** arguments) {
  static char out[4096];
  setvbuf(stdout, out, _IOFBF, sizeof out);  // so that printing allocates nothing
  GC_INIT();
  build();
  forget();
  wipe_stack();
  GC_gcollect();
  GC_gcollect();
  for (int i = count > 1 ? atoi(arguments[1]) : 0; i > 0; --i) {
    pthread_t thread;
    pthread_create(&thread, NULL, allocate, NULL);
  }
  struct GC_prof_stats_s stats;
  if (count == 1) GC_disable();
  GC_get_prof_stats(&stats, sizeof stats);
  printf(
      "ready gc_heap=%lu gc_free=%lu in_use=%ld bytes=%ld leaked=%ld leaked_bytes=%ld leaks=%ld "
      "text=%lu\n",
      stats.heapsize_full, stats.free_bytes_full, in_use, bytes_in_use, leaked, leaked_bytes, leaks,
      (unsigned long)(uintptr_t)sessions->next->buffer->text);
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) continue;
  return sessions == NULL;
}
