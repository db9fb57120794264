/* A heap to measure on: big_heap COUNT builds COUNT linked objects, half of them of 48 bytes and
 * half of 64 (in the collector's size classes), in 1,000 lists. Each object holds the next of its
 * list and one other object made at about the same time. BigHeap.java builds the same shape.
 * big_heap COUNT BYTES also gives each object a text of so many bytes, which holds no pointers.
 *
 * Prints "ready" and answers each line on standard input with one line:
 *   collect  runs GC_gcollect and prints how long it took, in milliseconds
 *   heap     prints the heap's size, its free bytes and the number of marking threads
 *   ranges   prints the mappings that hold the objects, as FIRST-LAST in hex, blank between them
 *   object   prints the address of an object near the end of its list
 *   shuffle  links all objects into one list in random order, and prints how many
 */
#define GC_THREADS
#include <gc.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kLists = 1000, kRecent = 65536, kMappings = 65536 };

struct object {
  struct object* next;
  struct object* other;
  uint64_t numbers[3]; /* one byte of the size class is the collector's */
};

struct large_object {
  struct object base;
  uint64_t more[2];
};

struct mapping {
  uintptr_t first;
  uintptr_t last;
  int used;
};

static struct object* lists[kLists];
static struct object* recent[kRecent];
static struct mapping mappings[kMappings];

static uint64_t next_random(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void build(uint64_t count, size_t text_bytes) {
  for (uint64_t i = 0; i < count; ++i) {
    const size_t bytes = i % 2 == 0 ? sizeof(struct object) : sizeof(struct large_object);
    struct object* made = GC_MALLOC(bytes);
    if (made == NULL) {
      fprintf(stderr, "big_heap: no memory for object %" PRIu64 "\n", i);
      exit(1);
    }
    made->next = lists[i % kLists];
    made->other = recent[next_random() % kRecent];
    made->numbers[0] = i;
    if (text_bytes > 0) {
      char* text = GC_MALLOC_ATOMIC(text_bytes);
      if (text == NULL) exit(1);
      memset(text, 'a' + (int)(i % 26), text_bytes);
      made->numbers[1] = (uint64_t)(uintptr_t)text;
    }
    lists[i % kLists] = made;
    recent[i % kRecent] = made;
  }
}

static size_t read_mappings(void) {
  size_t count = 0;
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return 0;
  while (count < kMappings && fgets(line, sizeof line, maps) != NULL) {
    struct mapping* m = &mappings[count];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &m->first, &m->last) != 2) continue;
    m->used = 0;
    ++count;
  }
  fclose(maps);
  return count;
}

static void mark_mapping_of(uintptr_t address, size_t count) {
  size_t low = 0;
  size_t high = count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (mappings[middle].first <= address) {
      low = middle;
    } else {
      high = middle;
    }
  }
  mappings[low].used = 1;
}

static void print_ranges(void) {
  const size_t count = read_mappings();
  if (count > 0) {
    for (size_t i = 0; i < kLists; ++i) {
      for (struct object* at = lists[i]; at != NULL; at = at->next) {
        mark_mapping_of((uintptr_t)at, count);
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (mappings[i].used) printf("%" PRIxPTR "-%" PRIxPTR " ", mappings[i].first, mappings[i].last);
  }
  printf("\n");
}

static uint64_t shuffle(uint64_t count) {
  struct object** all = malloc(count * sizeof *all); /* which the collector does not scan */
  uint64_t found = 0;
  if (all == NULL) return 0;
  for (size_t i = 0; i < kLists; ++i) {
    for (struct object* at = lists[i]; at != NULL; at = at->next) all[found++] = at;
  }
  for (uint64_t i = found; i > 1; --i) {
    const uint64_t other = next_random() % i;
    struct object* const last = all[i - 1];
    all[i - 1] = all[other];
    all[other] = last;
  }
  GC_disable();
  memset(lists, 0, sizeof lists);
  for (uint64_t i = 0; i < found; ++i) {
    all[i]->next = lists[0];
    all[i]->other = NULL;
    lists[0] = all[i];
  }
  GC_enable();
  free(all);
  return found;
}

static double collect(void) {
  struct timespec before;
  struct timespec after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  GC_gcollect();
  clock_gettime(CLOCK_MONOTONIC, &after);
  return (double)(after.tv_sec - before.tv_sec) * 1e3 +
         (double)(after.tv_nsec - before.tv_nsec) / 1e6;
}

/* The collector starts its marking threads with the program's first thread. */
static void* nothing(void* unused) {
  return unused;
}

static void start_markers(void) {
  pthread_t thread;
  if (GC_pthread_create(&thread, NULL, nothing, NULL) == 0) GC_pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  char line[64];
  const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  if (count == 0) {
    fprintf(stderr, "usage: big_heap COUNT [BYTES]\n");
    return 2;
  }
  GC_INIT();
  start_markers();
  build(count, argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
  memset(recent, 0, sizeof recent);
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "collect") == 0) {
      printf("%.3f\n", collect());
    } else if (strcmp(line, "heap") == 0) {
      printf("%zu %zu %d\n", GC_get_heap_size(), GC_get_free_bytes(), GC_get_parallel());
    } else if (strcmp(line, "ranges") == 0) {
      print_ranges();
    } else if (strcmp(line, "object") == 0) {
      const struct object* at = lists[0];
      while (at->next != NULL && at->next->next != NULL) at = at->next;
      printf("%p\n", (const void*)at);
    } else if (strcmp(line, "shuffle") == 0) {
      printf("%" PRIu64 "\n", shuffle(count));
    } else {
      printf("what?\n");
    }
  }
  return 0;
}
