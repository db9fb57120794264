/* Heaps of different shapes to measure on, with debug information: shapes SHAPE COUNT
 *   nodes   COUNT nodes of 48 bytes, each of which references the last one and any other
 *   lists   COUNT nodes of 16 bytes in 64 lists in the order of a shuffled pack
 *   map     a table of chains: COUNT entries, keys and texts of 20 to 59 bytes
 *   arrays  COUNT nodes of 48 bytes in arrays of 1,000 references
 * shapes.cr is the fifth. Prints "ready" and answers each line on standard input with one line:
 *   collect  runs GC_gcollect and prints how long it took, in milliseconds
 *   count    prints how many objects it made
 */
#define GC_THREADS
#include <gc.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kLists = 64, kInArray = 1000, kLeastText = 20, kTexts = 40 };

struct node {
  struct node* other;
  struct node* last;
  uint64_t numbers[3]; /* the collector keeps a byte at the end for itself */
};

struct cell {
  struct cell* next;
};

struct text {
  uint64_t bytes;
  char* start;
};

struct entry {
  struct entry* next;
  struct text* key;
  uint64_t hash;
};

struct map {
  struct entry** chains;
  uint64_t count;
};

static struct node* newest;
static struct cell* lists[kLists];
static struct map* map;
static struct node*** arrays;
static uint64_t made;

static uint64_t next_random(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void* check(void* memory) {
  if (memory == NULL) {
    fprintf(stderr, "shapes: no memory\n");
    exit(1);
  }
  ++made;
  return memory;
}

static void make_nodes(uint64_t count) {
  struct node** all = malloc(count * sizeof *all); /* which the collector does not scan */
  if (all == NULL) exit(1);
  for (uint64_t i = 0; i < count; ++i) {
    struct node* one = check(GC_MALLOC(sizeof *one));
    one->other = i == 0 ? NULL : all[next_random() % i];
    one->last = newest;
    newest = all[i] = one;
  }
  free(all);
}

static void make_lists(uint64_t count) {
  struct cell** all = malloc(count * sizeof *all);
  if (all == NULL) exit(1);
  GC_disable();
  for (uint64_t i = 0; i < count; ++i) all[i] = check(GC_MALLOC(sizeof(struct cell)));
  for (uint64_t i = count; i > 0; --i) {
    const uint64_t at = next_random() % i;
    struct cell* const one = all[at];
    all[at] = all[i - 1];
    one->next = lists[i % kLists];
    lists[i % kLists] = one;
  }
  GC_enable();
  free(all);
}

static void make_map(uint64_t count) {
  map = check(GC_MALLOC(sizeof *map));
  map->count = count;
  map->chains = check(GC_MALLOC(count * sizeof *map->chains));
  for (uint64_t i = 0; i < count; ++i) {
    struct entry* one = check(GC_MALLOC(sizeof *one));
    one->hash = next_random();
    one->key = check(GC_MALLOC(sizeof *one->key));
    one->key->bytes = kLeastText + next_random() % kTexts;
    one->key->start = check(GC_MALLOC_ATOMIC(one->key->bytes));
    memset(one->key->start, 'a' + (int)(i % 26), one->key->bytes);
    one->next = map->chains[one->hash % count];
    map->chains[one->hash % count] = one;
  }
}

static void make_arrays(uint64_t count) {
  const uint64_t needed = (count + kInArray - 1) / kInArray;
  arrays = check(GC_MALLOC(needed * sizeof *arrays));
  for (uint64_t i = 0; i < count; ++i) {
    if (i % kInArray == 0) {
      arrays[i / kInArray] = check(GC_MALLOC(kInArray * sizeof *arrays[0]));
    }
    arrays[i / kInArray][i % kInArray] = check(GC_MALLOC(sizeof(struct node)));
  }
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

static const struct {
  const char* name;
  void (*make)(uint64_t count);
} shapes[] = {
    {"nodes", make_nodes}, {"lists", make_lists}, {"map", make_map}, {"arrays", make_arrays}};

int main(int argc, char** argv) {
  char line[64];
  const uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
  GC_INIT();
  start_markers();
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    if (count > 0 && strcmp(argv[1], shapes[i].name) == 0) shapes[i].make(count);
  }
  if (made == 0) {
    fprintf(stderr, "usage: shapes nodes|lists|map|arrays COUNT\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "collect") == 0) {
      printf("%.3f\n", collect());
    } else if (strcmp(line, "count") == 0) {
      printf("%" PRIu64 "\n", made);
    } else {
      printf("what?\n");
    }
  }
  return 0;
}
