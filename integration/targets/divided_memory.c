// Divides the memory of its allocations into several mappings, as programs do that advise the
// kernel about a part of it or protect a part of it:
//     divided_memory mapped huge|undumped|locked|readonly|code|none|first
//     divided_memory stacks BYTES
//     divided_memory thread
// "mapped" has three allocations with a mapping each, and does that to a part of them; "stacks" has
// 20 suspended coroutines, each with a stack from posix_memalign(), whose lowest page is a guard;
// "thread" has three blocks in the arena of a thread, with such a page in the middle. All of them
// reference a block of 333 bytes. Prints how many of which usable size there are, and its leaks,
//     ready blocks=3 block_bytes=8392688 leaked=5 leaked_bytes=360
// waits for the end of its standard input, and uses all of it again.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPage = 4096, kMapped = 8 << 20, kInArena = 40000, kMany = 3, kStacks = 20, kHeld = 333 };
enum { kLeaked = 5, kLeakedBytes = 72 };

static void* blocks[kMany];

static void check(int is_good, const char* what) {
  if (is_good) return;
  perror(what);
  exit(1);
}

static void* held(void) {
  return calloc(1, kHeld);
}

static int is(const char* word, const char* wanted) {
  return strcmp(word, wanted) == 0;
}

static char* next_page(void* at) {
  return (char*)(((uintptr_t)at + kPage - 1) & ~(uintptr_t)(kPage - 1));
}

static void divide(char* block, const char* how) {
  char* const page = next_page(block);
  char* const middle = page + kMapped / 2;
  const size_t rest = (size_t)(block + kMapped - page) & ~(size_t)(kPage - 1);
  int result = -1;
  if (is(how, "huge")) result = madvise(page, rest, MADV_HUGEPAGE);
  if (is(how, "undumped")) result = madvise(page, rest, MADV_DONTDUMP);
  if (is(how, "locked")) result = mlock(middle, 4 * kPage);
  if (is(how, "readonly")) result = mprotect(middle, 16 * kPage, PROT_READ);
  if (is(how, "code")) result = mprotect(middle, 16 * kPage, PROT_READ | PROT_EXEC);
  if (is(how, "none")) result = mprotect(middle, 16 * kPage, PROT_NONE);
  if (is(how, "first")) result = madvise(page - kPage, kPage, MADV_DONTDUMP);
  check(result == 0, how);
}

// The pointers are behind what is divided off, and in it.
static void make_mapped(const char* how) {
  for (int i = 0; i < kMany; ++i) {
    char* const block = blocks[i] = malloc(kMapped);
    ((void**)(block + kMapped - kPage))[0] = held();
    ((void**)next_page(block + kMapped / 2))[2] = held();
    divide(block, how);
  }
}

static ucontext_t home;
static ucontext_t coroutines[kStacks];
static void* stacks[kStacks];

static void hold_one(int i) {
  void* volatile mine = held();
  swapcontext(&coroutines[i], &home);
  free(mine);
  swapcontext(&coroutines[i], &home);
}

static void make_stacks(size_t bytes) {
  for (int i = 0; i < kStacks; ++i) {
    check(posix_memalign(&stacks[i], kPage, bytes) == 0, "posix_memalign");
    check(mprotect(stacks[i], kPage, PROT_NONE) == 0, "mprotect");
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = stacks[i];
    coroutines[i].uc_stack.ss_size = bytes;
    makecontext(&coroutines[i], (void (*)(void))hold_one, 1, i);
    swapcontext(&home, &coroutines[i]);
  }
}

static void* make_in_arena(void* unused) {
  for (int i = 0; i < kMany; ++i) {
    char* const block = blocks[i] = malloc(kInArena);
    ((void**)(block + kInArena))[-2] = held();
    ((void**)next_page(block + kPage))[2] = held();
    check(mprotect(next_page(block + kPage), kPage, PROT_NONE) == 0, "mprotect");
  }
  return unused;
}

__attribute__((noinline)) static void leak(void) {
  for (int i = 0; i < kLeaked; ++i) {
    volatile char* const forgotten = malloc(kLeakedBytes);
    forgotten[0] = 1;
  }
}

__attribute__((noinline)) static void wipe(void) {
  volatile char unused[32768];
  memset((char*)unused, 0, sizeof unused);
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  const int has_stacks = is(what, "stacks");
  if (is(what, "mapped") && count > 2) make_mapped(words[2]);
  if (has_stacks) make_stacks(count > 2 ? (size_t)atol(words[2]) : 65536);
  if (is(what, "thread")) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, make_in_arena, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
  leak();
  void* const like = malloc(kLeakedBytes);
  const size_t leaked_bytes = malloc_usable_size(like);
  free(like);
  wipe();
  printf("ready blocks=%d block_bytes=%zu leaked=%d leaked_bytes=%zu\n",
         has_stacks ? kStacks : kMany, malloc_usable_size(has_stacks ? stacks[0] : blocks[0]),
         kLeaked, kLeaked * leaked_bytes);
  fflush(stdout);
  if (getchar() != EOF) return 1;
  for (int i = 0; has_stacks && i < kStacks; ++i) swapcontext(&home, &coroutines[i]);
  return 0;
}
