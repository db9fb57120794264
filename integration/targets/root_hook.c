// References objects only from malloc memory that it adds to the collector's roots by its own hook,
// GC_set_push_other_roots. With "--default" it sets no hook, and a variable references one object.

#include <gc/gc.h>
#include <gc/gc_mark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kObjects = 100 };
static void** kept;
static void* one;
static GC_push_other_roots_proc before;

static void push_kept(void) {
  if (before) before();
  GC_push_all_eager((char*)kept, (char*)(kept + kObjects));
}

int main(int count, char** words) {
  GC_INIT();
  one = GC_MALLOC(100);
  if (count < 2 || strcmp(words[1], "--default") != 0) {
    kept = malloc(kObjects * sizeof *kept);
    memset(kept, 0, kObjects * sizeof *kept);
    before = GC_get_push_other_roots();
    GC_set_push_other_roots(push_kept);
    for (int i = 0; i < kObjects; ++i) kept[i] = GC_MALLOC(4000);
  }
  GC_gcollect();
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    if (getchar() == EOF) return one == NULL;
  }
}
