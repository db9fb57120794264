// A heap that never changes: "still COUNT" builds one list of COUNT objects and waits for
// questions.

#define GC_THREADS
#include <gc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
  struct link* next;
  uint64_t value;
};

static struct link* first;

static void build(long count) {
  for (long i = 0; i < count; ++i) {
    struct link* made = GC_MALLOC(sizeof *made);
    made->next = first;
    made->value = (uint64_t)i;
    first = made;
  }
}

static long sum(void) {
  uint64_t total = 0;
  for (const struct link* at = first; at != NULL; at = at->next) total += at->value;
  return (long)total;
}

int main(int argc, char** argv) {
  char line[64];
  const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  GC_INIT();
  build(count);
  printf("ready objects=%ld\n", count);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("sum=%ld heap=%zu free=%zu\n", sum(), GC_get_heap_size(), GC_get_free_bytes());
    fflush(stdout);
  }
  return 0;
}
