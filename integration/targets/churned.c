// A heap in which a collection has just ended, and nothing was allocated since. Some objects that
// the collection has kept are no longer referenced nevertheless, or seem not to be. The argument
// says why:
//
//   finalized    their finalizers have run
//   returned     a function that has returned held them
//   lists        a thread has used and forgotten what was on its own free lists
//   dropped      the words that referenced them were overwritten
//   hidden       they are referenced: a mark procedure finds pointers that the program has hidden
//
//   ready kept=N allocated=N    N objects are referenced by a global list, whatever the argument;
//                               by the collector's count, N bytes were allocated since then

#define _GNU_SOURCE
#define GC_THREADS
#include <gc.h>
#include <gc/gc_mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kKept = 500, kLists = 100, kLength = 40 };

struct node {
  struct node* next;
  char* text;
};

static struct node* kept;
static void** holder;

static struct node* make_list(int length) {
  struct node* list = NULL;
  for (int i = 0; i < length; ++i) {
    struct node* node = GC_MALLOC(64);
    node->next = list;
    list = node;
  }
  return list;
}

static __attribute__((noinline)) void clean_stack(void) {
  volatile char old[65536];
  for (size_t i = 0; i < sizeof old; ++i) old[i] = 0;
}

static void nothing(void* object, void* data) {
  (void)object;
  (void)data;
}

static __attribute__((noinline)) void make_finalized(void) {
  for (int i = 0; i < kLists; ++i) {
    GC_REGISTER_FINALIZER(make_list(kLength), nothing, &kept, NULL, NULL);
  }
}

static void finalized(void) {
  make_finalized();
  clean_stack();
  GC_gcollect();
}

// The list's pointer is far from where later calls leave their frames.
static __attribute__((noinline)) void returned(void) {
  volatile char between[16384];
  struct node* volatile list = make_list(kLists * kLength);
  clean_stack();
  between[0] = 1;
  GC_gcollect();
  if (between[0] != 1 || list == NULL) abort();
}

enum { kGranule = 16, kBlock = 4096, kDirect = 256, kOnList = 3 };

static __attribute__((noinline)) void make_dropped(size_t granules, size_t count) {
  for (size_t i = 0; i < count; ++i) GC_MALLOC(granules * kGranule - 1);
}

// A thread has a list of its own for each size of which it has allocated kDirect granules, and
// takes a block at a time.
static void lists(void) {
  static const size_t sizes[] = {3, 4, 6, 7};
  GC_disable();
  for (int i = 0; i < 4; ++i) {
    const size_t in_block = kBlock / kGranule / sizes[i];
    make_dropped(sizes[i], kDirect / sizes[i] + 2 * in_block + kOnList);
  }
  GC_enable();
  clean_stack();
  GC_gcollect();
  for (int i = 0; i < 4; ++i) make_dropped(sizes[i], 30);
}

static struct node* table[kLists];

static void dropped(void) {
  for (int i = 0; i < kLists; ++i) table[i] = make_list(kLength);
  clean_stack();
  GC_gcollect();
  memset(table, 0, sizeof table);
}

static struct GC_ms_entry* mark_hidden(GC_word* object,
                                       struct GC_ms_entry* top,
                                       struct GC_ms_entry* limit,
                                       GC_word env) {
  (void)env;
  for (int i = 0; i < kLists; ++i) {
    if (object[i] == 0) continue;
    void* list = (void*)~object[i];
    top = GC_MARK_AND_PUSH(list, top, limit, (void**)(void*)&object[i]);
  }
  return top;
}

static void hidden(void) {
  const unsigned procedure = GC_new_proc(mark_hidden);
  const int kind = (int)GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(procedure, 0), 0, 1);
  holder = GC_generic_malloc(kLists * sizeof *holder, kind);
  for (int i = 0; i < kLists; ++i) {
    struct node* list = make_list(kLength);
    list->text = malloc(100);
    holder[i] = (void*)~(uintptr_t)list;
  }
  clean_stack();
  GC_gcollect();
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  GC_INIT();
  kept = make_list(kKept);
  if (strcmp(mode, "finalized") == 0)
    finalized();
  else if (strcmp(mode, "returned") == 0)
    returned();
  else if (strcmp(mode, "lists") == 0)
    lists();
  else if (strcmp(mode, "dropped") == 0)
    dropped();
  else if (strcmp(mode, "hidden") == 0)
    hidden();
  else
    return 2;
  printf("ready kept=%d allocated=%zu\n", kKept, GC_get_bytes_since_gc());
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
