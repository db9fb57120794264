/* A heap index of the collector's kind, with accessor functions of the shape that the evaluator has
 * to understand, and the truth about it in `truth`. Compiled with several compilers and options.
 * FORM 1 has the loop in each accessor and the collector's usual numbers, FORM 2 a function for it
 * and other numbers. */
#include <stddef.h>
#include <stdint.h>

#if FORM == 1
enum { BLOCK_SHIFT = 12, BOTTOM_BITS = 10, TOP_BITS = 11, PAD = 10213 };
struct header {
  struct header *next, *prev;
  void* block;
  unsigned char kind, flags;
  unsigned short reclaimed;
  size_t size;
  size_t descriptor;
};
#define HEADER_OF static inline __attribute__((always_inline)) struct header*
#else
enum { BLOCK_SHIFT = 13, BOTTOM_BITS = 9, TOP_BITS = 10, PAD = 37 };
struct header {
  void* block;
  struct header* next;
  size_t marks[3];
  unsigned short reclaimed;
  unsigned char kind, flags;
  size_t size;
  size_t descriptor;
};
#define HEADER_OF static __attribute__((noinline)) struct header*
#endif

struct bottom {
  struct header* headers[1 << BOTTOM_BITS];
  struct bottom *up, *down;
  uintptr_t key;
  struct bottom* chain;
};

/* Public in a build with default visibility, as GC_arrays is in Debian's. */
struct arrays {
  size_t heap;
  size_t other;
  size_t large_free;
  size_t unmapped;
  struct bottom* none;
  void* pad[PAD];
  struct bottom* top[1 << TOP_BITS];
} arrays;
size_t collections;
volatile unsigned char collecting;
int mark_state;
signed char incremental;
char displacements[1 << BLOCK_SHIFT];
char remainders[sizeof(void*)];

#define ANY __attribute__((visibility("default"), used))

const uint64_t truth[] = {offsetof(struct arrays, top),
                          BLOCK_SHIFT,
                          BOTTOM_BITS,
                          TOP_BITS,
                          offsetof(struct arrays, none),
                          offsetof(struct bottom, key),
                          offsetof(struct bottom, chain),
                          offsetof(struct header, size),
                          offsetof(struct header, kind),
                          offsetof(struct header, flags),
                          offsetof(struct header, descriptor),
                          offsetof(struct arrays, heap),
                          offsetof(struct arrays, large_free),
                          offsetof(struct arrays, unmapped)};

HEADER_OF header_of(const void* p) {
  const uintptr_t high = (uintptr_t)p >> (BLOCK_SHIFT + BOTTOM_BITS);
  struct bottom* index = arrays.top[high & ((1 << TOP_BITS) - 1)];
  while (index->key != high && index != arrays.none) index = index->chain;
  return index->headers[((uintptr_t)p >> BLOCK_SHIFT) & ((1 << BOTTOM_BITS) - 1)];
}

ANY size_t object_size(const void* p) {
#if FORM == 2
  if (p == NULL) return 0;
#endif
  return header_of(p)->size;
}

ANY int kind_and_size(const void* p, size_t* size) {
  struct header* header = header_of(p);
  if (size != NULL) *size = header->size;
  return header->kind;
}

ANY size_t heap_size(void) {
  return arrays.heap - arrays.unmapped;
}
ANY size_t free_bytes(void) {
  return arrays.large_free - arrays.unmapped;
}
ANY size_t unmapped_bytes(void) {
  return arrays.unmapped;
}
ANY int is_incremental_mode(void) {
  return (int)incremental;
}

ANY size_t collection_count(void) {
  return collections;
}
ANY unsigned version(void) {
  return 8 << 16 | 2 << 8 | 2;
}
ANY int in_progress(void) {
  return mark_state != 0;
}

static __attribute__((noinline)) void work(int n) {
  while (n-- > 0) arrays.other += (size_t)n;
}
ANY int collect_a_little(void) {
  collecting = 1;
  work(3);
  collecting = 0;
  return mark_state != 0;
}

#if FORM == 1
static inline
    __attribute__((always_inline))
#else
static
    __attribute__((noinline))
#endif
    void
    allow(size_t offset) {
  if (offset >= sizeof displacements) __builtin_trap();
  if (displacements[offset]) return;
  displacements[offset] = 1;
  remainders[offset % sizeof remainders] = 1;
}
ANY void register_displacement(size_t offset) {
  work(1);
  allow(offset);
  work(1);
}
