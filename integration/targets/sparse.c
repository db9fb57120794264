// Has much memory, but touches little of it: a main arena of 80 MB, mapped chunks of 200 MB, the
// stacks of 40 threads, and a private mapping of a file of 300 MB. It prints
//     ready leaked=N arena=N
// and waits for the end of its standard input. The only pointers to some allocations are in pages
// that may not be written to any more, in a private page of a file, and in /dev/zero.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBlocks = 800, kBuffers = 100, kThreads = 40, kLeaked = 7 };

static void* blocks[kBlocks];
static void* buffers[kBuffers];
static char* volatile whole;
static void** volatile pages[3];

static void* wait_for_end(void* unused) {
  for (;;) pause();
  return unused;
}

// Maps a page privately, and puts the only pointer to an allocation into it.
static void** page_of(int file, off_t bytes, int is_read_only) {
  void** page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (page == MAP_FAILED) exit(1);
  page[3] = malloc(72);
  if (is_read_only && mprotect(page, 4096, PROT_READ) != 0) exit(1);
  return page;
}

__attribute__((noinline)) static void leak(void) {
  for (int i = 0; i < kLeaked; ++i) {
    volatile char* forgotten = malloc(72);
    forgotten[0] = 1;
  }
}

// Overwrites what earlier calls left on the stack.
__attribute__((noinline)) static void wipe(void) {
  volatile char unused[4096];
  memset((char*)unused, 0, sizeof unused);
}

int main(void) {
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(100000);
  for (int i = 0; i < kBuffers; ++i) {
    buffers[i] = malloc(1 << 20);
    memset(buffers[i], 1, 4096);
  }
  whole = calloc(1, 100 << 20);
  const int file = memfd_create("sparse", 0);
  if (file < 0 || ftruncate(file, 300 << 20) != 0) return 1;
  pages[0] = page_of(file, 300 << 20, 0);
  pages[1] = page_of(file, 4096, 1);
  pages[2] = page_of(open("/dev/zero", O_RDWR), 4096, 0);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0) return 1;
  }
  leak();
  wipe();
  printf("ready leaked=%d arena=%zu\n", kLeaked, mallinfo2().arena);
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
