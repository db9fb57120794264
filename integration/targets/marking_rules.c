// A heap whose objects the collector marks by one of its less usual rules, which the argument
// names. Two collections run, and the collector lists the objects that it has kept. Nothing is
// allocated or changed afterwards.
//
//   ready objects=N in_cycle=0|1    the build is done, N objects are listed; reachable.h has the
//                                   questions
//
// Compiles with every release of the collector since 7.4.

#define _GNU_SOURCE
#define GC_THREADS
#include <gc/gc_disclaim.h>
#include <gc/gc_gcj.h>
#include <gc/gc_typed.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ballast.h"
#include "reachable.h"

#define GC_RELEASE (GC_VERSION_MAJOR * 100 + GC_VERSION_MINOR)

#if GC_RELEASE < 800
#define GC_PTR_STORE_AND_DIRTY(at, pointer) (*(void**)(at) = (pointer))
#endif

static void* roots[8192];
static int root_count;

// Makes an object without any reference, not even from a dead stack frame, and returns the
// complement of its address.
static __attribute__((noinline)) uintptr_t made(size_t bytes, int alive, const char* what) {
  void* object = GC_MALLOC(bytes);
  know(alive, object, what);
  return ~(uintptr_t)object;
}

static void keep(uintptr_t hidden, size_t offset) {
  roots[root_count++] = (void*)(~hidden + offset);
}

// Puts a reference to a new object into *slot, the only word that references the object.
static __attribute__((noinline)) void fill(void* slot, size_t offset, int alive, const char* what) {
  const uintptr_t hidden = made(24, alive, what);
  *(uintptr_t*)slot = ~hidden + offset;
}

// Starts a thread on a stack whose end, which libraries remember, is not the address of an object.
static pthread_t start_thread(void* (*run)(void*), void* argument) {
  enum { kStack = 1 << 20, kPage = 4096 };
  char* stack =
      mmap(NULL, kStack + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStack);
  if (pthread_create(&thread, &attributes, run, argument) != 0) abort();
  pthread_attr_destroy(&attributes);
  return thread;
}

// --- displacements ---

static void* volatile waiting_stack[1];
static atomic_int is_waiting;

static void* wait_with_stack(void* unused) {
  volatile uintptr_t on_stack[3] = {0, 0, 0};
  on_stack[0] = ~made(200, 1, "held by the middle, from a stack") + 100;
  on_stack[1] = ~made(20000, 1, "held by a later page, from a stack") + 9000;
  clean_stack();
  waiting_stack[0] = (void*)unused;
  atomic_store(&is_waiting, 1);
  for (;;) pause();
  return (void*)on_stack[0];
}

static void before_displacements(void) {
  GC_set_all_interior_pointers(0);
}

static void before_incremental(void) {
  GC_enable_incremental();
}

static void build_displacements(void) {
  static const struct {
    size_t offset;
    int alive;
  } offsets[] = {{0, 1}, {8, 1},  {24, 1},  {5, 1},    {16, 0},  {1, 0},
                 {7, 0}, {32, 0}, {100, 0}, {1000, 1}, {1008, 0}};
  GC_register_displacement(8);
  GC_register_displacement(24);
  GC_register_displacement(5);
  GC_register_displacement(1000);
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; ++i) {
    const size_t at = offsets[i].offset;
    const int alive = offsets[i].alive;
    const char* what = alive ? "at a displacement that counts" : "at one that does not";
    if (at < 48) keep(made(48, alive, what), at);
    if (at < 200) keep(made(200, alive, what), at);
    if (at < 1500) keep(made(1500, alive, what), at);
    keep(made(9000, alive, what), at);
    void** holder = GC_MALLOC(64);
    roots[root_count++] = holder;
    if (at < 24) fill(&holder[2], at, alive, what);
  }
  keep(made(9000, 0, "held by its second page only"), 4096);
  start_thread(wait_with_stack, NULL);
  while (!atomic_load(&is_waiting)) sched_yield();
}

// --- large objects that ignore pointers past their first page ---

// Makes an object whose last word holds another one. Whether a pointer past the first page counts
// depends on where the pointer is, and on the release.
static __attribute__((noinline)) uintptr_t ignoring(size_t offset, const char* where) {
  enum { kBytes = 200000 };
  void** object = GC_MALLOC_IGNORE_OFF_PAGE(kBytes);
  object[kBytes / 8 - 1] = GC_MALLOC(40);
  if (offset == 0) know(1, object, where);
  return ~(uintptr_t)object - offset;
}

// Clears vector registers. The collector suspends a thread by a signal, whose frame has them.
static inline void clean_vectors(void) {
  __asm__ volatile(
      "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"
      "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
      "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\tpxor %%xmm8, %%xmm8\n\t"
      "pxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
      "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, %%xmm14\n\t"
      "pxor %%xmm15, %%xmm15" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
            "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

static void* wait_with_ignoring(void* unused) {
  volatile uintptr_t on_stack[4] = {0, 0, 0, 0};
  on_stack[0] = ~ignoring(100000, "held from a stack");
  on_stack[1] = ~ignoring(4000, "held from a stack");
  on_stack[2] = ~ignoring(199000, "held from a stack");
  on_stack[3] = ~ignoring(0, "held from a stack");
  clean_stack();
  waiting_stack[0] = (void*)unused;
  atomic_store(&is_waiting, 1);
  clean_vectors();
  for (;;) pause();
  return (void*)on_stack[0];
}

static void build_ignoring(void) {
  static const size_t offsets[] = {0, 8, 2048, 4088, 4096, 100000, 199992};
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; ++i) {
    keep(ignoring(offsets[i], "held from data"), 0);
    void** holder = GC_MALLOC(64);
    roots[root_count++] = holder;
    holder[2] = (void*)~ignoring(offsets[i], "held from the heap");
  }
  start_thread(wait_with_ignoring, NULL);
  while (!atomic_load(&is_waiting)) sched_yield();
}

// --- the ends of objects: one past the end, and the last byte ---

static void build_ends(void) {
  for (size_t bytes = 15; bytes < 3000; bytes = bytes * 3 / 2) {
    keep(made(bytes, 1, "held by its last byte"), bytes - 1);
    // With a spare byte at the end of each object, this pointer references the object; without it,
    // the next one.
    roots[root_count++] = (char*)GC_MALLOC(bytes) + bytes;
  }
  keep(made(50000, 1, "large, held by its last byte"), 49999);
}

// --- typed objects ---

enum { kWide = 200 };

static GC_descr make_descriptor(size_t words, const int* pointers, int count) {
  GC_word bits[kWide / 64 + 1] = {0};
  for (int i = 0; i < count; ++i) GC_set_bit(bits, pointers[i]);
  return GC_make_descriptor(bits, words);
}

// Fills every word of `words`; only those at `pointers` are real pointers.
static const char* in_pointer = "in a pointer's word";
static const char* in_other = "in no pointer's word";

static void fill_words(void** words, size_t size, const int* pointers, int count) {
  for (size_t word = 0; word < size; ++word) {
    int is_pointer = 0;
    for (int i = 0; i < count; ++i) is_pointer |= pointers[i] == (int)word;
    fill(&words[word], 0, is_pointer, is_pointer ? in_pointer : in_other);
  }
}

static void make_typed(size_t words, const int* pointers, int count) {
  const GC_descr descriptor = make_descriptor(words, pointers, count);
  void** object = GC_MALLOC_EXPLICITLY_TYPED(words * 8, descriptor);
  roots[root_count++] = object;
  fill_words(object, words, pointers, count);
}

static const char* array_name(const char* what, size_t elements, size_t words) {
  char* name = malloc(100);
  snprintf(name, 100, "%s of an array of %zu by %zu words", what, elements, words);
  return name;
}

static void make_array(size_t elements, size_t words, const int* pointers, int count) {
  const GC_descr descriptor = make_descriptor(words, pointers, count);
  void** array = GC_CALLOC_EXPLICITLY_TYPED(elements, words * 8, descriptor);
  roots[root_count++] = array;
  in_pointer = array_name("in a pointer's word", elements, words);
  in_other = array_name("in no pointer's word", elements, words);
  if (elements * words > 60000) {
    for (size_t i = 0; i < elements; i += elements / 16) {
      fill_words(array + i * words, words, pointers, count);
    }
    return;
  }
  for (size_t i = 0; i < elements; ++i) fill_words(array + i * words, words, pointers, count);
}

static void build_typed(void) {
  static const int few[] = {0, 2};
  static const int prefix[] = {0, 1};
  static const int wide[] = {3, 63, 64, 130, 199};
  static const int late[] = {100};
  make_typed(8, few, 2);
  make_typed(8, prefix, 2);
  make_typed(8, few, 0);
  make_typed(62, wide, 1);
  make_typed(kWide, wide, 5);
  make_typed(kWide, late, 1);
  for (int i = 0; i < 150; ++i) make_typed(70 + (size_t)i % 100, wide, 3);
  // If two elements fit into half a bitmap, an array of more than 50 elements is described by
  // halves.
  static const size_t counts[] = {1, 2, 20, 50, 51, 64, 101, 203};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    make_array(counts[i], 3, few, 2);
    make_array(counts[i], 3, prefix, 2);
    make_array(counts[i], 2, prefix, 2);
  }
  make_array(5, kWide, wide, 5);
  make_array(70, 40, few, 2);
  make_array(60, kWide, late, 1);
  make_array(100001, 3, few, 2);
}

// --- objects whose first word points to their type, as gcj's do ---

struct vtable {
  void* unused;
  GC_descr descriptor;
};
static const struct vtable constant_vtable = {NULL, ((GC_word)5 << 61) | GC_DS_BITMAP};
static struct vtable data_vtable = {NULL, ((GC_word)3 << 61) | GC_DS_BITMAP};

static void build_gcj(void) {
  static const int constant_words[] = {0, 2};
  static const int data_words[] = {1, 2};
  static const int length_words[] = {0, 1, 2};
  GC_init_gcj_malloc(0, NULL);
  struct vtable* length = GC_MALLOC_UNCOLLECTABLE(sizeof *length);
  length->descriptor = 24 | GC_DS_LENGTH;
  for (int i = 0; i < 40; ++i) {
    const size_t words = i % 2 == 0 ? 7 : 700;
    void** object = GC_GCJ_MALLOC(words * 8, (void*)(uintptr_t)&constant_vtable);
    roots[root_count++] = object;
    fill_words(object + 1, words - 1, constant_words + 1, 0);
    fill(&object[2], 0, 1, "in a word of a bitmap in constant memory");
    object = GC_GCJ_MALLOC(words * 8, &data_vtable);
    roots[root_count++] = object;
    fill_words(object + 1, words - 1, data_words, 0);
    fill(&object[1], 0, 1, "in a word of a bitmap in data");
    fill(&object[2], 0, 1, "in a word of a bitmap in data");
    object = GC_GCJ_MALLOC(words * 8, length);
    roots[root_count++] = object;
    fill_words(object + 1, words - 1, length_words, 2);
  }
}

// --- a mark procedure of the program ---

static int own_kind;

static struct GC_ms_entry* mark_own(GC_word* object,
                                    struct GC_ms_entry* top,
                                    struct GC_ms_entry* limit,
                                    GC_word env) {
  (void)env;
  return GC_MARK_AND_PUSH((void*)object[1], top, limit, (void**)(void*)&object[1]);
}

static void build_own(void) {
  const unsigned procedure = GC_new_proc(mark_own);
  own_kind = (int)GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(procedure, 0), 0, 1);
  for (int i = 0; i < 30; ++i) {
    void** object = GC_generic_malloc(60, own_kind);
    roots[root_count++] = object;
    fill(&object[1], 0, 1, "where the program's procedure looks");
    fill(&object[3], 0, 0, "where it does not");
  }
}

// --- objects with a procedure that is called when they are dropped ---

static atomic_int dropped;

static void GC_CALLBACK on_drop(void* object, void* data) {
  (void)object;
  (void)data;
  atomic_fetch_add(&dropped, 1);
}

static const struct GC_finalizer_closure closure = {on_drop, NULL};

static void build_disclaim(void) {
  GC_init_finalized_malloc();
  for (int i = 0; i < 400; ++i) {
    void** object = GC_finalized_malloc(i % 10 == 0 ? 5000 : 40, &closure);
    GC_PTR_STORE_AND_DIRTY(&object[1], GC_MALLOC(32));
    if (i % 2 == 0) {
      roots[root_count++] = object;
      know(1, object[1], "held by an object with a procedure for its end");
    }
  }
}

// --- incremental mode ---

struct node {
  struct node* left;
  struct node* right;
};

static struct node* make_tree(int depth) {
  struct node* node = GC_MALLOC(sizeof *node);
  if (depth > 0) {
    GC_PTR_STORE_AND_DIRTY(&node->left, make_tree(depth - 1));
    GC_PTR_STORE_AND_DIRTY(&node->right, make_tree(depth - 1));
  }
  return node;
}

static void build_incremental(void) {
  for (int i = 0; i < 24; ++i) {
    // Every other page is not written to.
    roots[root_count++] = make_tree(9);
    roots[root_count++] = GC_MALLOC_ATOMIC(3000);
    make_tree(9);
  }
  keep(made(100000, 1, "large"), 0);
}

// Leaves the collector between two steps of a cycle.
static int begin_cycle(void) {
  GC_set_time_limit(0);  // otherwise it would mark all of such a small heap at once
#if GC_RELEASE >= 802
  GC_start_incremental_collection();
#endif
  for (int i = 0; i < 100000; ++i) {
    if (GC_collect_a_little()) return 1;
    if (GC_MALLOC_ATOMIC(1000) == NULL) return 0;
  }
  return 0;
}

static const struct mode {
  const char* name;
  void (*before)(void);
  void (*build)(void);
} modes[] = {
    {"displacements", before_displacements, build_displacements},
    {"ends", NULL, build_ends},
    {"ignoring", NULL, build_ignoring},
    {"ignoring_bases", before_displacements, build_ignoring},
    {"ignoring_protected", before_incremental, build_ignoring},
    {"typed", NULL, build_typed},
    {"gcj", NULL, build_gcj},
    {"own", NULL, build_own},
    {"disclaim", NULL, build_disclaim},
    {"incremental", before_incremental, build_incremental},
    {"cycle", before_incremental, build_incremental},
};

static void* build(void* mode) {
  // A dead object's slot must not be reused.
  GC_disable();
  ((const struct mode*)mode)->build();
  clean_stack();
  GC_enable();
  return NULL;
}

int main(int argc, char** argv) {
  const struct mode* mode = NULL;
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; ++i) {
    if (strcmp(argv[1], modes[i].name) == 0) mode = &modes[i];
  }
  if (mode == NULL) return 2;
  if (mode->before == before_displacements) mode->before();
  GC_INIT();
  if (mode->before == before_incremental) mode->before();
  make_ballast();
  pthread_join(start_thread(build, (void*)(uintptr_t)mode), NULL);
  clean_stack();
  GC_gcollect();
  clean_stack();
  GC_gcollect();
  list_reachable();
  clean_stack();
  const int in_cycle = strcmp(mode->name, "cycle") == 0 ? begin_cycle() : 0;
  printf("ready objects=%zu in_cycle=%d\n", listed_count, in_cycle);
  fflush(stdout);
  answer_questions();
  return 0;
}
