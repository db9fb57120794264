// A program that falsifies malloc's data, and then never allocates again. It knows main_arena from
// the arena of another thread, which the header of that thread's heap names.

#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "falsify.h"

enum { kBins = 254, kObjects = 4000 };
static const word kHeap = (word)64 << 20;

static void* objects[kObjects];
static void* volatile of_thread;
static word* other;       // the thread's arena
static word* main_arena;  // both begin with the same members
static long bins;         // where the bins begin in an arena, in words

static void* allocate(void* nothing) {
  of_thread = malloc(100);
  for (;;) pause();
  return nothing;
}

// Finds the bins of an arena: an empty bin contains its own address, as if it were a chunk.
static long find_bins(const word* arena) {
  for (long at = 290; at >= kBins - 2; --at) {
    const word self = (word)(arena + at - 2);
    if (arena[at] == self && arena[at + 1] == self) return at - (kBins - 2);
  }
  return -1;
}

static word* top_of(word* arena) {
  return arena + bins - 2;
}
static word* next_of(word* arena) {
  return arena + bins + kBins + 2;
}
static word* size_of(word* arena) {
  return next_of(arena) + 3;
}

static word* reserve(size_t bytes, size_t aligned) {
  char* const at = mmap(NULL, bytes + aligned, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
  return (word*)(((word)at + aligned - 1) / aligned * aligned);
}

// Makes a heap of the arena, full of small chunks up to its end.
static word* make_heap(word* arena, word* heap, const word* before, size_t bytes) {
  const word offset = ((word)arena - ((word)arena / kHeap * kHeap) + 15) / 16 * 16;
  heap[0] = (word)arena;
  heap[1] = (word)before;
  heap[2] = heap[3] = bytes;
  for (word at = offset; at + 32 <= bytes; at += 32) heap[at / 8 + 1] = 32 | 5;
  return heap;
}

// Makes the arena's newest heap name itself as the one before it.
static int circle(size_t bytes) {
  word* const heap = reserve(kHeap, kHeap);
  if (heap == NULL) return 0;
  make_heap(other, heap, heap, bytes);
  *top_of(other) = (word)heap + bytes - 32;
  return 1;
}

// Makes a heap that begins 2 MiB inside another one, and so overlaps it.
static int overlap(void) {
  word* const heap = reserve(kHeap, kHeap);
  if (heap == NULL) return 0;
  make_heap(other, heap, (word*)((word)other / kHeap * kHeap), 16 << 20);
  word* const inner = heap + (2 << 20) / 8;
  make_heap(other, inner, heap, 1 << 20);
  inner[1] = (word)heap;
  *top_of(other) = (word)inner + (1 << 20) - 32;
  return 1;
}

// Adds many arenas, each in a heap of a megabyte that consists of small chunks.
static int add_arenas(size_t count) {
  const size_t bytes = 1 << 20;
  word* const memory = reserve(count * bytes, bytes);
  if (memory == NULL) return 0;
  word* before = main_arena;
  for (size_t i = 0; i < count; ++i) {
    word* const heap = memory + i * bytes / 8;
    word* const arena = heap + 8;
    heap[0] = (word)arena;
    heap[1] = 0;
    heap[2] = heap[3] = bytes;
    for (long bin = 0; bin < kBins; bin += 2)
      arena[bins + bin] = arena[bins + bin + 1] = (word)(arena + bins + bin - 2);
    *top_of(arena) = (word)(heap + bytes / 8 - 4);
    *next_of(arena) = *next_of(before);
    *next_of(before) = (word)arena;
    *size_of(arena) = bytes;
    before = arena;
  }
  return 1;
}

// Makes a chunk of this size, with a mapping of its own.
static int claim(size_t bytes) {
  word* const memory = reserve(bytes, 4096);
  if (memory == NULL) return 0;
  memory[1] = bytes | 2;
  objects[0] = memory + 2;
  return 1;
}

// Makes pages that look like the starts of mapped chunks. Each chunk covers all pages after it.
static int map_many(size_t pages) {
  word* const memory = reserve(pages * 4096, 4096);
  if (memory == NULL) return 0;
  for (size_t i = 0; i < pages; ++i) memory[i * 512 + 1] = ((pages + 1) * 4096) | 2;
  return 1;
}

// Makes pages that look like the starts of parts of main_arena. Each part covers all pages after
// it.
static int chain_pages(size_t pages) {
  word* const memory = reserve(pages * 4096, 4096);
  if (memory == NULL) return 0;
  for (size_t i = 0; i < pages * 4096; i += 32) memory[i / 8 + 1] = 32 | 1;
  *size_of(main_arena) += 4096;
  return 1;
}

// Changes random words of the arenas, of the first heap's header and of chunks.
static int scatter(void) {
  for (word count = pick(20) + 1; count > 0; --count) {
    word* const chunk = (word*)objects[pick(kObjects)] - 2;
    const word values[] = {0,
                           1,
                           pick(5000),
                           (word)1 << 60,
                           (word)1 << 46 | 1,
                           ~(word)0,
                           0x21,
                           0x11,
                           (word)chunk,
                           (word)main_arena,
                           (word)other,
                           (word)other / kHeap * kHeap,
                           (word)(main_arena + bins)};
    word* at = chunk + pick(4);
    switch (pick(5)) {
      case 0: at = main_arena + pick(bins + kBins + 8); break;
      case 1: at = other + pick(bins + kBins + 8); break;
      case 2: at = (word*)((word)other / kHeap * kHeap) + pick(4); break;
      default: break;
    }
    *at = values[pick(sizeof values / sizeof *values)];
  }
  return 1;
}

static int poison(const char* how) {
  word* const chunk = (word*)objects[kObjects / 2] - 2;
  if (strcmp(how, "size") == 0) return (chunk[1] = (word)1 << 60 | 1) != 0;
  if (strcmp(how, "no size") == 0) return (chunk[1] = 0) == 0;
  if (strcmp(how, "arena of 2^60 bytes") == 0) return (*size_of(main_arena) = (word)1 << 60) != 0;
  if (strcmp(how, "arenas in a circle") == 0) return (*next_of(other) = (word)other) != 0;
  if (strcmp(how, "heaps in a circle") == 0) return circle(16 << 20);
  if (strcmp(how, "overlapping heaps") == 0) return overlap();
  if (strcmp(how, "many arenas") == 0) return add_arenas(2000);
  if (strcmp(how, "a terabyte") == 0) return claim((size_t)1 << 40);
  if (strcmp(how, "64 terabytes") == 0) return claim((size_t)1 << 46);
  if (strcmp(how, "mapped chunks") == 0) return map_many(16384);
  if (strcmp(how, "chains in pages") == 0) return chain_pages(4096);
  if (strcmp(how, "bins in a circle") == 0) {
    for (long i = 0; i < bins - 2; ++i) main_arena[i] = (word)chunk;
    chunk[2] = (word)chunk;
    return 1;
  }
  if (strcmp(how, "scattered") == 0) return scatter();
  return 0;
}

int main(int count, char** words) {
  pthread_t thread;
  static char out[4096];
  setvbuf(stdout, out, _IOFBF, sizeof out);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  void* const large = malloc(2 << 20);  // has a mapping
  for (int i = 0; i < kObjects; ++i) objects[i] = malloc(24 + i % 3000);
  for (int i = 0; i < kObjects; i += 7) {
    free(objects[i]);
    objects[i] = objects[i + 1];
  }
  if (large == NULL || pthread_create(&thread, NULL, allocate, NULL) != 0) return 1;
  while (of_thread == NULL) usleep(1000);
  other = *(word**)((word)of_thread / kHeap * kHeap);
  bins = find_bins(other);
  if (bins >= 0) main_arena = (word*)*next_of(other);
  set_seed(count, words);
  const int done =
      count > 1 && main_arena != NULL && *next_of(main_arena) == (word)other && poison(words[1]);
  wait_for_end(done);
}
