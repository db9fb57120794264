// A small heap whose collector reports its own counters. Built with the shared and with the static
// libgc, stripped and not: the counters found from outside must be the same.

#include <gc.h>
#include <stdint.h>
#include <stdio.h>

static void** first;

static void build(void) {
  for (int i = 0; i < 20000; ++i) {
    void** made = GC_MALLOC(16 + (size_t)(i % 200));
    made[0] = first;
    if (i % 50 == 0) made[1] = GC_MALLOC_ATOMIC(5000);
    first = made;
  }
}

int main(void) {
  char line[64];
  GC_INIT();
  build();
  GC_gcollect();
  printf("ready pointer=%ld\n", (long)(intptr_t)first);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("heap=%zu free=%zu unmapped=%zu collections=%lu version=%u interior=%d\n",
           GC_get_heap_size(), GC_get_free_bytes(), GC_get_unmapped_bytes(),
           (unsigned long)GC_get_gc_no(), GC_get_version(), GC_get_all_interior_pointers());
    fflush(stdout);
  }
  return first == NULL;
}
