// Roots that were added to the collector in one way, which the argument names, keep a heap alive.
// Some of the words that reference objects are roots, and others are not. Then two collections run,
// and the collector lists the objects that it has kept. Nothing is allocated or changed afterwards.
//
//   ready objects=N           the build is done, N objects are listed; -1 if there is no list
//   ready none=1              this release has no such way
//   list                      answers "listed=N", then N lines "<address> <bytes>" in hex
//   known                     answers "known=N", then N lines "<alive 0|1> <address> <what>":
//                             objects whose fate the program knows, whatever the collector says
//
// Compiles with every release of the collector since 7.4, which has no list yet.

#define _GNU_SOURCE
#define GC_THREADS
#include <dlfcn.h>
#include <gc.h>
#include <gc/gc_mark.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "ballast.h"

#define GC_RELEASE (GC_VERSION_MAJOR * 100 + GC_VERSION_MINOR)

enum { kMost = 1 << 18, kMostKnown = 1024, kStackBytes = 256 << 10, kPage = 4096 };

struct node {
  struct node* left;
  struct node* right;
  uint64_t value;
};

// --- known objects and the collector's list, in memory that it does not scan ---

struct known {
  uintptr_t hidden;  // the complement of the address, which is not a pointer
  int alive;
  const char* what;
};
struct entry {
  uintptr_t address;
  size_t bytes;
};
static struct known* known;
static struct entry* listed;
static long listed_count;
static int has_list = 1;
static int known_count;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static void know(int alive, const void* object, const char* what) {
  pthread_mutex_lock(&known_lock);
  known[known_count++] = (struct known){~(uintptr_t)object, alive, what};
  pthread_mutex_unlock(&known_lock);
}

static struct node* make_tree(int depth) {
  struct node* node = GC_MALLOC(sizeof *node);
  if (depth > 0) {
    node->left = make_tree(depth - 1);
    node->right = make_tree(depth - 1);
  }
  return node;
}

// Makes a tree that only *slot references.
static __attribute__((noinline)) void hang(void* volatile* slot, int alive, const char* what) {
  struct node* tree = make_tree(4);
  know(alive, tree, what);
  know(alive, tree->right, what);
  *slot = tree;
}

// Makes a tree whose pointer is moved into position later.
static __attribute__((noinline)) uintptr_t hidden_tree(int alive, const char* what) {
  void* volatile slot = NULL;
  hang(&slot, alive, what);
  const uintptr_t hidden = ~(uintptr_t)slot;
  slot = NULL;
  return hidden;
}

static __attribute__((noinline)) void clean_stack(void) {
  volatile char old[32768];
  for (size_t i = 0; i < sizeof old; ++i) old[i] = 0;
}

#if GC_RELEASE >= 706
static void note(void* object, size_t bytes, void* data) {
  (void)data;
  if (listed_count < kMost) listed[listed_count++] = (struct entry){(uintptr_t)object, bytes};
}

static void* enumerate(void* unused) {
  GC_enumerate_reachable_objects_inner(note, NULL);
  return unused;
}
#endif

static void print_known(void) {
  printf("known=%d\n", known_count);
  for (int i = 0; i < known_count; ++i) {
    printf("%d %lx %s\n", known[i].alive, ~known[i].hidden, known[i].what);
  }
}

static void print_list(void) {
  printf("listed=%ld\n", listed_count);
  for (long i = 0; i < listed_count; ++i) {
    printf("%lx %zx\n", listed[i].address, listed[i].bytes);
  }
}

static void answer_questions(void) {
  printf("ready objects=%ld\n", listed_count);
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
}

static void serve(void) {
  clean_stack();
  GC_gcollect();
  clean_stack();  // removes addresses of blocks
  GC_gcollect();
#if GC_RELEASE >= 706
  GC_call_with_alloc_lock(enumerate, NULL);
#else
  has_list = 0;
#endif
  if (!has_list) listed_count = -1;
  clean_stack();
  answer_questions();
}

static void* map_memory(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory;
}

// --- registered areas ---

static void* in_data[64];  // scanned unless the mode says otherwise

static void areas(void) {
  void** one = malloc(4096);
  GC_add_roots(one, one + 512);
  hang(&one[0], 1, "held by the first word of a registered area");
  hang(&one[511], 1, "held by the last word of a registered area");
  void** mapped = map_memory(8 * kPage);
  GC_add_roots((char*)mapped + kPage + 3, (char*)mapped + 3 * kPage + 5);  // is rounded inwards
  hang(&mapped[600], 1, "held by a registered area in mapped memory");
  hang(&mapped[10], 0, "before a registered area");
  hang(&mapped[512], 0, "in the word that is only partly registered");
  hang(&mapped[3 * 512], 0, "in the word where a registered area ends");
  hang(&in_data[0], 1, "held by the program's data");
  void** plain = malloc(4096);
  hang(&plain[3], 0, "held by memory that is not registered");
}

static void inside(void) {
  void** area = GC_malloc_atomic_uncollectable(64 << 10);
  GC_add_roots(area + 512, area + 4096);
  hang(&area[512], 1, "held by the start of a registered part of the collector's memory");
  hang(&area[4095], 1, "held by its end");
  hang(&area[511], 0, "held by what is before it");
  hang(&area[4096], 0, "held by what is after it");
}

static void many(void) {
  for (int i = 0; i < 150; ++i) {
    void** area = i % 2 != 0 ? malloc(256) : map_memory(kPage);
    GC_add_roots(area, area + 32);
    hang(&area[i % 32], 1, "held by one of many registered areas");
  }
  hang(&in_data[0], 1, "held by the program's data");
}

static void excluded(void) {
  GC_exclude_static_roots(&in_data[8], &in_data[16]);
  void** area = malloc(4096);
  GC_add_roots(area, area + 512);
  GC_exclude_static_roots(area + 100, area + 200);
  hang(&in_data[7], 1, "before excluded data");
  hang(&in_data[8], 0, "in the first word of excluded data");
  hang(&in_data[15], 0, "in the last word of excluded data");
  hang(&in_data[16], 1, "after excluded data");
  hang(&area[99], 1, "before what is excluded of an area");
  hang(&area[150], 0, "in what is excluded of an area");
  hang(&area[200], 1, "after what is excluded of an area");
}

static void removed(void) {
  void** kept = malloc(1024);
  void** gone = malloc(1024);
  GC_add_roots(kept, kept + 128);
  GC_add_roots(gone, gone + 128);
  GC_remove_roots(gone, gone + 128);
  GC_remove_roots(in_data, in_data + 64);  // has no effect: it is only a part of an area
  hang(&kept[5], 1, "held by an area that stays registered");
  hang(&gone[5], 0, "held by an area that was removed");
  hang(&in_data[3], 1, "held by the program's data");
}

static void cleared(void) {
  void** area = malloc(1024);
  GC_clear_roots();
  GC_set_no_dls(1);
  GC_add_roots(area, area + 128);
  hang(&area[5], 1, "held by an area that was added after all were removed");
  hang(&in_data[3], 0, "held by data that is not registered any more");
}

static void without_libraries(void) {
  GC_set_no_dls(1);
  void** area = malloc(1024);
  GC_add_roots(area, area + 128);
  GC_add_roots(&in_data[0], &in_data[8]);
  hang(&area[5], 1, "held by a registered area");
  hang(&in_data[3], 1, "held by the part of the data that is registered");
  hang(&in_data[20], 0, "held by data, of which none is registered by itself");
}

static void* filtered_start;
static int has_roots(const char* name, void* start, size_t bytes) {
  (void)name;
  return (char*)start + bytes <= (char*)filtered_start || filtered_start < start;
}
static void filtered(void) {
  filtered_start = (void*)in_data;
  GC_register_has_static_roots_callback(has_roots);
  void** area = malloc(1024);
  GC_add_roots(area, area + 128);
  hang(&area[5], 1, "held by a registered area");
  hang(&in_data[3], 0, "held by a module that the program filters out");
}

// Opens the library that the environment names, and returns its array of pointers, `slots`.
static void** open_library(void** handle) {
  const char* path = getenv("ROOTED_LIBRARY");
  *handle = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
  if (*handle == NULL) {
    printf("no library\n");
    exit(1);
  }
  return dlsym(*handle, "slots");
}
static void* library;
static void opened(void) {
  hang(&open_library(&library)[2], 1, "held by a library that was opened");
}
static void closed(void) {
  hang(&open_library(&library)[2], 0, "held by a library that was closed");
  GC_gcollect();
  dlclose(library);
  hang(&in_data[0], 1, "held by the program's data");
}

// Makes an area unreadable. No collection may follow, because the collector could not read it
// either; the list is from before.
static void unreadable(void) {
  void** area = map_memory(4 * kPage);
  GC_add_roots(area, area + 4 * 512);
  hang(&area[5], 1, "held by a registered area that nobody can read now");
  GC_gcollect();
  mprotect(area, 4 * kPage, PROT_NONE);
  answer_questions();
  exit(0);
}

// --- threads ---

static atomic_int holding;  // threads that are in position

// Waits for ever with nothing in its registers.
static void wait_for_ever(void) {
  __asm__ volatile(
      "lock incl %0\n\t"
      "xor %%ebx, %%ebx\n\t"
      "xor %%edx, %%edx\n\t"
      "xor %%esi, %%esi\n\t"
      "xor %%edi, %%edi\n\t"
      "xor %%r8d, %%r8d\n\t"
      "xor %%r9d, %%r9d\n\t"
      "xor %%r10d, %%r10d\n\t"
      "xor %%r12d, %%r12d\n\t"
      "xor %%r13d, %%r13d\n\t"
      "xor %%r14d, %%r14d\n\t"
      "xor %%r15d, %%r15d\n"
      "1:\n\t"
      "mov %1, %%eax\n\t"
      "syscall\n\t"
      "jmp 1b"
      : "+m"(holding)
      : "i"(SYS_pause)
      : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
        "r15", "memory");
}

static void start(void* (*run)(void*), int count) {
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) abort();
    pthread_detach(thread);
  }
  while (atomic_load(&holding) < count) sched_yield();
}

static void* plain_thread(void* unused) {
  void* volatile slot = NULL;
  hang(&slot, 1, "held by a thread's stack");
  clean_stack();
  wait_for_ever();
  return unused;
}
static void threads(void) {
  start(plain_thread, 3);
}

static int nesting;  // how deep the frames of a blocked thread go

static void* call_blocked(void* hidden);
static void* active(void* hidden) {
  (void)hidden;
  void* volatile slot = NULL;
  hang(&slot, 1, "held by frames that are active again");
  clean_stack();
  if (nesting > 1)
    GC_do_blocking(call_blocked, NULL);
  else
    wait_for_ever();
  return (void*)slot;
}
static void* call_blocked(void* hidden) {
  void* volatile slot = hidden != NULL ? (void*)~(uintptr_t)hidden : NULL;
  volatile char between[512] = {0};
  clean_stack();
  if (hidden != NULL && nesting > 0)
    GC_call_with_gc_active(active, NULL);
  else
    wait_for_ever();
  return between[0] == 0 ? (void*)slot : NULL;
}
static void* blocked_thread(void* unused) {
  void* volatile slot = NULL;
  hang(&slot, 1, "held by frames above the blocking call");
  const uintptr_t hidden = hidden_tree(0, "held by frames inside the blocking call");
  clean_stack();
  GC_do_blocking(call_blocked, (void*)hidden);
  (void)slot;
  return unused;
}
static void blocking(void) {
  start(blocked_thread, 2);
}
static void active_again(void) {
  nesting = 1;
  start(blocked_thread, 2);
}
static void blocked_again(void) {
  nesting = 2;
  start(blocked_thread, 2);
}

// --- stacks that the program announces to the collector ---

static ucontext_t own;
static ucontext_t other;
static void (*entered)(void);

static void enter(void) {
  void* volatile slot = NULL;
  hang(&slot, 1, "held by the stack that was switched to");
  clean_stack();
  entered();
  (void)slot;
}

static void set_bottom(void* at) {
#if GC_RELEASE >= 802
  struct GC_stack_base old;
  const struct GC_stack_base base = {.mem_base = at};
  GC_set_stackbottom(GC_get_my_stackbottom(&old), &base);
#else
  GC_stackbottom = at;
#endif
}

static void switch_to(char* stack, void (*run)(void)) {
  void* volatile slot = NULL;
  entered = run;
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = kStackBytes;
  makecontext(&other, enter, 0);
  hang(&slot, 0, "held by the stack that was left");
  clean_stack();
  set_bottom(stack + kStackBytes);
  swapcontext(&own, &other);
  (void)slot;
}

static void coroutine(void) {
  switch_to(map_memory(kStackBytes), serve);
}

static void merged(void) {
  // Maps memory next to the heap, so that the kernel joins both into one mapping.
  GC_expand_hp(8 << 20);
  const uintptr_t heap = (uintptr_t)GC_MALLOC(3000);
  char* stack = MAP_FAILED;
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from = 0;
    unsigned long to = 0;
    if (sscanf(line, "%lx-%lx", &from, &to) != 2 || heap < from || heap >= to) continue;
    stack = mmap((void*)(from - kStackBytes), kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  if (maps != NULL) fclose(maps);
  switch_to(stack == MAP_FAILED ? map_memory(kStackBytes) : stack, serve);
}

// If a stack is in an object, the collector also scans the words below the stack pointer. These
// change with each call, so a list would be outdated at once.
static void uncollectable(void) {
  has_list = 0;
  switch_to(GC_MALLOC_UNCOLLECTABLE(kStackBytes), serve);
}
static void atomic_stack(void) {
  switch_to(GC_malloc_atomic_uncollectable(kStackBytes), serve);
}

#if GC_RELEASE >= 802
static void* coroutine_thread(void* unused) {
  ucontext_t mine;
  ucontext_t next;
  char* stack = map_memory(kStackBytes);
  entered = wait_for_ever;
  getcontext(&next);
  next.uc_stack.ss_sp = stack;
  next.uc_stack.ss_size = kStackBytes;
  makecontext(&next, enter, 0);
  set_bottom(stack + kStackBytes);
  swapcontext(&mine, &next);
  return unused;
}
static void coroutine_threads(void) {
  start(coroutine_thread, 2);
}
#endif

// --- alternate stacks, and threads unknown to the collector ---

#if GC_RELEASE >= 706
static void on_signal(int number) {
  (void)number;
  void* volatile slot = NULL;
  hang(&slot, 1, "held by a registered alternate stack");
  clean_stack();
  wait_for_ever();
  (void)slot;
}
static void* handling_thread(void* unused) {
  char* alternate = map_memory(kStackBytes);
  pthread_attr_t attributes;
  void* stack = NULL;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  GC_register_altstack(stack, bytes, alternate, kStackBytes);
  const stack_t to = {.ss_sp = alternate, .ss_size = kStackBytes};
  sigaltstack(&to, NULL);
  raise(SIGUSR1);
  return unused;
}
static void alternate(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  start(handling_thread, 1);
}
#endif

static uintptr_t strangers_hidden;
static void* stranger(void* unused) {
  void* volatile slot = (void*)~strangers_hidden;
  wait_for_ever();
  (void)slot;
  return unused;
}
static void unregistered(void) {
  strangers_hidden = hidden_tree(0, "held by a thread that the collector does not know");
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT,
                                                                                 "pthread_create");
  pthread_t thread;
  if (create == NULL || create(&thread, NULL, stranger, NULL) != 0) abort();
  while (atomic_load(&holding) < 1) sched_yield();
}

// A thread on a stack of its own, which the collector does not know.
static void* lost_thread(void* unused) {
  ucontext_t mine;
  ucontext_t next;
  getcontext(&next);
  next.uc_stack.ss_sp = map_memory(kStackBytes);
  next.uc_stack.ss_size = kStackBytes;
  makecontext(&next, wait_for_ever, 0);
  swapcontext(&mine, &next);
  return unused;
}
static void lost(void) {
  GC_disable();  // a collection would crash
  start(lost_thread, 1);
  answer_questions();
  exit(0);
}

// --- heaps without objects ---

static void uninitialised(void) {
  answer_questions();
  exit(0);
}
static void empty(void) {
  GC_INIT();
  answer_questions();
  exit(0);
}

static const struct mode {
  const char* name;
  void (*run)(void);
} modes[] = {
    {"areas", areas},
    {"inside", inside},
    {"many", many},
    {"excluded", excluded},
    {"removed", removed},
    {"cleared", cleared},
    {"without_libraries", without_libraries},
    {"filtered", filtered},
    {"opened", opened},
    {"closed", closed},
    {"unreadable", unreadable},
    {"threads", threads},
    {"blocking", blocking},
    {"active_again", active_again},
    {"blocked_again", blocked_again},
    {"coroutine", coroutine},
    {"merged", merged},
    {"uncollectable", uncollectable},
    {"atomic_stack", atomic_stack},
#if GC_RELEASE >= 802
    {"coroutine_threads", coroutine_threads},
#endif
#if GC_RELEASE >= 706
    {"alternate", alternate},
#endif
    {"unregistered", unregistered},
    {"lost", lost},
    {"uninitialised", uninitialised},
    {"empty", empty},
};

int main(int count, char** arguments) {
  static char output[1 << 16];
  setvbuf(stdout, output, _IOFBF, sizeof output);
  listed = malloc(kMost * sizeof *listed);
  known = malloc(kMostKnown * sizeof *known);
  const char* name = count > 1 ? arguments[1] : "";
  if (strcmp(name, "uninitialised") != 0) GC_INIT();
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    if (strcmp(name, modes[i].name) != 0) continue;
    const int is_empty = modes[i].run == uninitialised || modes[i].run == empty;
    if (!is_empty) make_ballast();
    modes[i].run();
    serve();
    return 0;
  }
  printf("ready none=1\n");  // not in this release
  return 2;
}
