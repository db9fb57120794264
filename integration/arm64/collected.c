// A program on the collector whose heap it knows: it prints the heap's sizes, and ends with a core
// file while another thread waits.

#include <gc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kNodes = 2000, kEntries = 1000, kGarbage = 5000 };

struct node {
  struct node* next;
  long value[8];
};

struct node* chain;
void** table;

static void* nothing(void* argument) {
  pause();
  return argument;
}

__attribute__((noinline)) static void build(void) {
  for (int i = 0; i < kNodes; ++i) {
    struct node* one = GC_MALLOC(sizeof *one);
    one->next = chain;
    chain = one;
  }
  table = GC_MALLOC(kEntries * sizeof *table);
  for (int i = 0; i < kEntries; ++i) table[i] = GC_MALLOC_ATOMIC(100);
  for (int i = 0; i < kGarbage; ++i) {
    void* volatile lost = GC_MALLOC(24);
    (void)lost;
  }
}

__attribute__((noinline)) static void innermost(void) {
  abort();
}

__attribute__((noinline)) static void outer(void) {
  innermost();
  __asm__ volatile("" ::: "memory");  // so that the call is not the last thing it does
}

int main(void) {
  pthread_t thread;
  GC_INIT();
  build();
  GC_gcollect();
  pthread_create(&thread, 0, nothing, 0);
  usleep(100000);
  printf("heap %zu free %zu nodes %d\n", GC_get_heap_size(), GC_get_free_bytes(), kNodes);
  fflush(stdout);
  outer();
  return 0;
}
