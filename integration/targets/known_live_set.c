// A program that knows which of its objects are alive. Several threads reference trees, rings,
// buffers and single objects in every way that the collector supports, some of them in one way
// only. Then a collection runs, and the collector lists the objects that it has kept. Nothing is
// allocated or changed afterwards.
//
//   ready objects=N           the build is done, N objects are listed
//   list                      answers "listed=N", then N lines "<address> <bytes>" in hex
//   known                     answers "known=N", then N lines "<alive 0|1> <address> <what>":
//                             objects whose fate the program knows, whatever the collector says

#define GC_THREADS
#include <gc.h>
#include <gc/gc_mark.h>
#include <gc/gc_typed.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kThreads = 4, kTreeDepth = 11, kRing = 500, kMost = 1 << 20 };

struct node {
  struct node* left;
  struct node* right;
  uint64_t value;
};

struct entry {
  uintptr_t address;
  size_t bytes;
};

static struct entry* listed;  // from plain malloc, which the collector does not scan
static size_t listed_count;

// An address is stored as its complement, which is not a pointer.
struct known {
  uintptr_t hidden;
  int alive;
  const char* what;
};
static struct known known[64];
static int known_count;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static void know(int alive, const void* object, const char* what) {
  pthread_mutex_lock(&known_lock);
  known[known_count++] = (struct known){~(uintptr_t)object, alive, what};
  pthread_mutex_unlock(&known_lock);
}

// Objects that globals reference, by interior pointers if the name says so.
static struct node* global_tree;
static struct node* global_ring;
static char* global_interior;
static char* global_large_interior;
static void** global_buffer;
static void* global_typed;
static void* global_typed_array;
static void* global_debug;
static void* global_finalizable;
static void* global_ignore_off_page;
static void* global_linked;
static void* global_link;  // a disappearing link to an object that is referenced elsewhere

static struct node* make_tree(int depth) {
  struct node* node = GC_MALLOC(sizeof *node);
  if (depth > 0) {
    node->left = make_tree(depth - 1);
    node->right = make_tree(depth - 1);
  }
  return node;
}

static struct node* make_ring(int length) {
  struct node* first = GC_MALLOC(sizeof *first);
  struct node* last = first;
  for (int i = 1; i < length; ++i) {
    last->left = GC_MALLOC(sizeof *last);
    last->left->right = last;
    last = last->left;
  }
  last->left = first;
  return first;
}

static void nothing(void* object, void* data) {
  (void)object;
  (void)data;
}

static void make_large(void) {
  char* off_page = GC_MALLOC_IGNORE_OFF_PAGE(300000);
  global_ignore_off_page = off_page + 100;
  know(1, off_page, "large, ignoring off-page pointers, held by its first page");
  *(void**)(off_page + 299000) = GC_MALLOC(40);
  know(1, *(void**)(off_page + 299000), "held by the end of a large object");

  char* lost = GC_MALLOC_IGNORE_OFF_PAGE(200000);
  global_buffer[0] = lost + 100000;
  know(0, lost, "large, ignoring off-page pointers, with only one of these");

  char* large = GC_MALLOC(500000);
  global_large_interior = large + 400000;
  know(1, large, "large, held by an interior pointer");

  char* atomic = GC_MALLOC_ATOMIC(100000);
  global_buffer[1] = atomic + 99000;
  *(void**)(atomic + 64) = GC_MALLOC(48);
  know(1, atomic, "large and atomic, held by an interior pointer");
  know(0, *(void**)(atomic + 64), "held by an atomic object only");

  char* atomic_off_page = GC_MALLOC_ATOMIC_IGNORE_OFF_PAGE(150000);
  global_buffer[2] = atomic_off_page;
  know(1, atomic_off_page, "large and atomic, ignoring off-page pointers");
  global_buffer[3] = (char*)GC_MALLOC(3000) + 2999;
  global_buffer[4] = GC_MALLOC(2048 - 1);
}

static void make_typed(void) {
  struct typed {
    void* yes;
    void* no;
    void* also;
    uint64_t rest[5];
  };
  GC_word bitmap[GC_BITMAP_SIZE(struct typed)] = {0};
  GC_set_bit(bitmap, GC_WORD_OFFSET(struct typed, yes));
  GC_set_bit(bitmap, GC_WORD_OFFSET(struct typed, also));
  const GC_descr descriptor = GC_make_descriptor(bitmap, GC_WORD_LEN(struct typed));

  struct typed* typed = GC_MALLOC_EXPLICITLY_TYPED(sizeof *typed, descriptor);
  global_typed = typed;
  typed->yes = GC_MALLOC(32);
  typed->no = GC_MALLOC(32);
  typed->also = GC_MALLOC(32);
  know(1, typed, "typed");
  know(1, typed->yes, "held by a typed object's first word");
  know(1, typed->also, "held by a typed object's third word");
  know(0, typed->no, "in a word that the type says is none");

  struct typed* array = GC_CALLOC_EXPLICITLY_TYPED(20, sizeof *array, descriptor);
  global_typed_array = array;
  array[19].yes = GC_MALLOC(64);
  know(1, array, "an array of typed elements");
  know(1, array[19].yes, "held by a typed array's last element");

  // This descriptor is longer than a bitmap of one word.
  GC_word wide[4] = {0};
  GC_set_bit(wide, 3);
  GC_set_bit(wide, 130);
  void** far = GC_MALLOC_EXPLICITLY_TYPED(200 * 8, GC_make_descriptor(wide, 200));
  global_buffer[5] = far;
  far[3] = GC_MALLOC(24);
  far[130] = GC_MALLOC(24);
  know(1, far[3], "held by a long typed object's word 3");
  know(1, far[130], "held by a long typed object's word 130");
}

static void make_uncollectable(void) {
  void** kept = GC_MALLOC_UNCOLLECTABLE(64);
  kept[3] = GC_MALLOC(80);
  know(1, kept, "uncollectable");
  know(1, kept[3], "held by an uncollectable object");
  void** large = GC_MALLOC_UNCOLLECTABLE(20000);
  large[2000] = GC_MALLOC(80);
  know(1, large, "uncollectable and large");
  know(1, large[2000], "held by a large uncollectable object");
  void** atomic = GC_malloc_atomic_uncollectable(64);
  atomic[1] = GC_MALLOC(80);
  know(1, atomic, "atomic and uncollectable");
  know(0, atomic[1], "held by an atomic uncollectable object only");
  void* some[10];
  for (int i = 0; i < 10; ++i) some[i] = GC_MALLOC_UNCOLLECTABLE(64);
  for (int i = 0; i < 10; ++i) {
    know(i % 2, some[i],
         i % 2 != 0 ? "uncollectable, its neighbours freed" : "uncollectable, freed");
    if (i % 2 == 0) GC_FREE(some[i]);
  }
}

static void make_finalizable(void) {
  void** held = GC_MALLOC(48);
  global_finalizable = held;
  void* data = GC_MALLOC(56);
  GC_REGISTER_FINALIZER(held, nothing, data, NULL, NULL);
  know(1, held, "with a finalizer, and held");
  know(1, data, "data of a finalizer");

  void** dead = GC_MALLOC(48);
  dead[2] = GC_MALLOC(72);
  GC_REGISTER_FINALIZER(dead, nothing, NULL, NULL, NULL);
  know(1, dead, "waiting for its finalizer");
  know(1, dead[2], "held by what waits for its finalizer");

  void** linked = GC_MALLOC(40);
  global_linked = linked;
  global_link = linked;
  GC_GENERAL_REGISTER_DISAPPEARING_LINK(&global_link, linked);
  know(1, linked, "with a disappearing link");
}

static void* build(void* unused) {
  (void)unused;
  global_tree = make_tree(kTreeDepth);
  global_ring = make_ring(kRing);
  make_tree(kTreeDepth);  // dead at once
  make_ring(kRing);
  char* inner = GC_MALLOC(200);
  global_interior = inner + 150;
  know(1, inner, "held by an interior pointer");
  global_buffer = GC_MALLOC(100 * sizeof *global_buffer);
  make_large();
  make_typed();
  make_uncollectable();
  make_finalizable();
  char* debug = GC_debug_malloc(100, GC_EXTRAS);
  global_debug = debug;
  know(1, GC_base(debug), "made by GC_debug_malloc");
  for (int i = 10; i < 100; ++i) {
    global_buffer[i] = i % 2 == 0 ? GC_MALLOC_ATOMIC((size_t)i * 20) : GC_MALLOC((size_t)i * 20);
  }
  return NULL;
}

// Overwrites what earlier calls left on the stack.
static __attribute__((noinline)) void clean_stack(void) {
  volatile char old[65536];
  for (size_t i = 0; i < sizeof old; ++i) old[i] = 0;
}

static atomic_int holding;  // threads whose pointer is in position

// Makes a tree that only the complement of its address references, so that the caller's stack does
// not have the address.
static __attribute__((noinline)) void make_held(uintptr_t* hidden, long number) {
  static const char* const names[kThreads] = {
      "held by a register of thread 0", "held by a register of thread 1",
      "held by a register of thread 2", "held by a register of thread 3"};
  struct node* tree = make_tree(8);
  know(1, tree, names[number]);
  *hidden = ~(uintptr_t)tree;
}

// Waits for ever with the only pointer to a tree in a register that calls preserve.
static void hold_in_register(uintptr_t hidden) {
#ifdef __x86_64__
  __asm__ volatile(
      "mov %%rax, %%r14\n\t"
      "not %%r14\n\t"
      "lock incl %1\n\t"
      // The leftovers of earlier calls in the other registers reference nothing.
      "xor %%ebx, %%ebx\n\t"
      "xor %%edx, %%edx\n\t"
      "xor %%esi, %%esi\n\t"
      "xor %%edi, %%edi\n\t"
      "xor %%r8d, %%r8d\n\t"
      "xor %%r9d, %%r9d\n\t"
      "xor %%r10d, %%r10d\n\t"
      "xor %%r12d, %%r12d\n\t"
      "xor %%r13d, %%r13d\n\t"
      "xor %%r15d, %%r15d\n"
      "1:\n\t"
      "mov %2, %%eax\n\t"
      "syscall\n\t"
      "jmp 1b"
      : "+a"(hidden), "+m"(holding)
      : "i"(SYS_pause)
      : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "memory");
#else
  register uintptr_t held __asm__("x24") = hidden;
  register atomic_int* count __asm__("x25") = &holding;
  __asm__ volatile(
      "mvn x24, x24\n\t"
      "1: ldaxr w9, [x25]\n\t"
      "add w9, w9, #1\n\t"
      "stlxr w10, w9, [x25]\n\t"
      "cbnz w10, 1b\n\t"
      // The leftovers of earlier calls in the other registers reference nothing.
      ".irp number, 1,5,6,7,9,10,11,12,13,14,15,16,17,19,20,21,22,23,25,26,27,28\n\t"
      "mov x\\number, xzr\n\t"
      ".endr\n"
      "2: mov x0, xzr\n\t"
      "mov x1, xzr\n\t"
      "mov x2, xzr\n\t"
      "mov x3, xzr\n\t"
      "mov x4, xzr\n\t"
      "mov x8, %[call]\n\t"  // ppoll, of nothing and for ever: there is no pause
      "svc #0\n\t"
      "b 2b"
      : "+r"(held), "+r"(count)
      : [call] "i"(SYS_ppoll)
      : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x19", "x20", "x21", "x22", "x23", "x26", "x27", "x28",
        "memory");
#endif
}

static __attribute__((noinline)) void make_stacked(struct node* volatile* slot, long number) {
  static const char* const names[kThreads] = {
      "held by the stack of thread 0", "held by the stack of thread 1",
      "held by the stack of thread 2", "held by the stack of thread 3"};
  *slot = make_ring(200);
  know(1, *slot, names[number]);
}

static void* hold(void* argument) {
  const long number = (long)(intptr_t)argument;
  struct node* volatile on_stack = NULL;
  uintptr_t hidden = 0;
  make_stacked(&on_stack, number);
  make_held(&hidden, number);
  // Objects of each size are dropped, so that their slots end up on this thread's free lists.
  for (int i = 0; i < 200; ++i) {
    GC_MALLOC((size_t)(i % 12 + 1) * 16 - 1);
    GC_MALLOC_ATOMIC((size_t)(i % 12 + 1) * 16 - 1);
  }
  clean_stack();
  hold_in_register(hidden);
  return on_stack;
}

static void note(void* object, size_t bytes, void* data) {
  (void)data;
  if (listed_count < kMost) listed[listed_count++] = (struct entry){(uintptr_t)object, bytes};
}

static void* enumerate(void* unused) {
  GC_enumerate_reachable_objects_inner(note, NULL);
  return unused;
}

static void print_known(void) {
  printf("known=%d\n", known_count);
  for (int i = 0; i < known_count; ++i) {
    printf("%d %lx %s\n", known[i].alive, ~known[i].hidden, known[i].what);
  }
  fflush(stdout);
}

static void print_list(void) {
  printf("listed=%zu\n", listed_count);
  for (size_t i = 0; i < listed_count; ++i) {
    printf("%lx %zx\n", listed[i].address, listed[i].bytes);
  }
  fflush(stdout);
}

int main(void) {
  static char output[1 << 16];
  setvbuf(stdout, output, _IOFBF, sizeof output);
  GC_INIT();
  GC_set_finalize_on_demand(1);
  listed = malloc(kMost * sizeof *listed);

  pthread_t builder;
  pthread_create(&builder, NULL, build, NULL);
  pthread_join(builder, NULL);
  for (long i = 0; i < kThreads; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, hold, (void*)(intptr_t)i);
    pthread_detach(thread);
  }
  while (atomic_load(&holding) < kThreads) sched_yield();
  clean_stack();
  GC_gcollect();
  GC_call_with_alloc_lock(enumerate, NULL);
  clean_stack();
  printf("ready objects=%zu\n", listed_count);
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "list\n") == 0)
      print_list();
    else if (strcmp(line, "known\n") == 0)
      print_known();
    else
      printf("unknown=1\n");
    fflush(stdout);
  }
  return 0;
}
