#pragma once

// The answers of a target with a known heap: the collector's own list of the objects that it has
// kept, and objects whose fate the target knows independently. Answers are lines:
//
//   list     "listed=N", then N lines "<address> <bytes>" in hex
//   known    "known=N", then N lines "<alive 0|1> <address> <what>"
//
// Include it with GC_THREADS defined. Release 7.4 of the collector cannot list its objects, so N is
// 0 there.

#include <gc.h>
#include <gc/gc_mark.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostListed = 1 << 20, kMostKnown = 1 << 16 };

struct reachable_entry {
  uintptr_t address;
  size_t bytes;
};

// An address is stored as its complement, which is not a pointer.
struct known_entry {
  uintptr_t hidden;
  int alive;
  const char* what;
};

static struct reachable_entry* listed;  // from plain malloc, which the collector does not scan
static size_t listed_count;
static struct known_entry* known;
static int known_count;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void know(int alive, const void* object, const char* what) {
  pthread_mutex_lock(&known_lock);
  if (known == NULL) known = malloc(kMostKnown * sizeof *known);
  if (known_count < kMostKnown) {
    known[known_count++] = (struct known_entry){~(uintptr_t)object, alive, what};
  }
  pthread_mutex_unlock(&known_lock);
}

// Overwrites what earlier calls left on the stack.
static __attribute__((noinline, unused)) void clean_stack(void) {
  volatile char old[65536];
  for (size_t i = 0; i < sizeof old; ++i) old[i] = 0;
}

#if GC_VERSION_MAJOR * 100 + GC_VERSION_MINOR >= 706
static void note_reachable(void* object, size_t bytes, void* data) {
  (void)data;
  if (listed_count < kMostListed) {
    listed[listed_count++] = (struct reachable_entry){(uintptr_t)object, bytes};
  }
}

static void* enumerate_reachable(void* unused) {
  GC_enumerate_reachable_objects_inner(note_reachable, NULL);
  return unused;
}
#endif

// Keeps the collector's present list, to be printed on request.
static inline void list_reachable(void) {
#if GC_VERSION_MAJOR * 100 + GC_VERSION_MINOR >= 706
  if (listed == NULL) listed = malloc(kMostListed * sizeof *listed);
  listed_count = 0;
  GC_call_with_alloc_lock(enumerate_reachable, NULL);
#endif
}

static inline void answer_questions(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "list\n") == 0) {
      printf("listed=%zu\n", listed_count);
      for (size_t i = 0; i < listed_count; ++i) {
        printf("%lx %zx\n", listed[i].address, listed[i].bytes);
      }
    } else if (strcmp(line, "known\n") == 0) {
      printf("known=%d\n", known_count);
      for (int i = 0; i < known_count; ++i) {
        printf("%d %lx %s\n", known[i].alive, ~known[i].hidden, known[i].what);
      }
    } else {
      printf("unknown=1\n");
    }
    fflush(stdout);
  }
}
