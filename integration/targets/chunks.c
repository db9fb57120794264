// Makes large objects, each at the start of a chunk of the heap. All are in one array, which a
// global holds. The collector keeps the end of the last chunk as a hint for the next one, and that
// is often the start of an older chunk. Prints how many words of static data other than the global
// point to an object.

#include <gc.h>
#include <stdint.h>
#include <stdio.h>

enum { kObjects = 40, kBytes = 4 << 20 };
static void** kept;
extern char __data_start[];
extern char _end[];

static int hints(void) {
  int count = 0;
  for (void** at = (void**)(((uintptr_t)__data_start + 7) & ~(uintptr_t)7); (char*)(at + 1) <= _end;
       ++at) {
    if (at == (void**)&kept) continue;
    for (int i = 0; i < kObjects; ++i) count += *at == kept[i];
  }
  return count;
}

int main(void) {
  GC_INIT();
  kept = GC_MALLOC(kObjects * sizeof *kept);
  for (int i = 0; i < kObjects; ++i) kept[i] = GC_MALLOC(kBytes);
  GC_gcollect();
  printf("ready kept=%ld hints=%d\n", (long)(intptr_t)&kept, hints());
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return kept == NULL;
}
