// A heap after a collection that has left blocks to be swept later. A third of the objects of each
// size is kept, and each of these references memory of malloc. Nothing is leaked, and nothing is
// allocated or changed afterwards.
//
//   ready objects=N kept=N    N objects are listed; reachable.h has the questions
//
// With the argument "coroutine", the program runs on a stack in the collector's memory. The list is
// outdated then, because the collector also scans the unused part of that stack.

#define _GNU_SOURCE
#define GC_THREADS
#include <ucontext.h>

#include "reachable.h"

enum { kNodes = 20000, kStackBytes = 256 << 10 };

struct node {
  struct node* next;
  char* text;
};

static struct node* kept;
static struct node* dropped;
static int kept_count;
static ucontext_t caller;

static __attribute__((noinline)) void build(void) {
  static const size_t sizes[] = {16, 40, 40, 40, 88, 200, 500};
  for (int i = 0; i < kNodes; ++i) {
    struct node* node = GC_MALLOC(sizes[i / 3 % 7]);
    struct node** list = i % 3 == 0 ? &kept : &dropped;
    node->next = *list;
    *list = node;
    if (list == &dropped) continue;
    node->text = malloc(100);
    memset(node->text, 'x', 100);
    know(1, node, "kept");
    ++kept_count;
  }
  dropped = NULL;
}

static void serve(void) {
  build();
  clean_stack();
  GC_gcollect();
  clean_stack();
  GC_gcollect();
  list_reachable();
  clean_stack();
  printf("ready objects=%zu kept=%d\n", listed_count, kept_count);
  fflush(stdout);
  answer_questions();
}

int main(int argc, char** argv) {
  static char output[1 << 16];
  setvbuf(stdout, output, _IOFBF, sizeof output);
  GC_INIT();
  if (argc < 2 || strcmp(argv[1], "coroutine") != 0) {
    serve();
    return 0;
  }
  char* stack = GC_MALLOC_UNCOLLECTABLE(kStackBytes);
  ucontext_t own;
  getcontext(&own);
  own.uc_stack.ss_sp = stack;
  own.uc_stack.ss_size = kStackBytes;
  own.uc_link = &caller;
  makecontext(&own, serve, 0);
#if GC_VERSION_MAJOR * 100 + GC_VERSION_MINOR >= 802
  struct GC_stack_base old;
  const struct GC_stack_base base = {.mem_base = stack + kStackBytes};
  GC_set_stackbottom(GC_get_my_stackbottom(&old), &base);
#else
  GC_stackbottom = stack + kStackBytes;
#endif
  swapcontext(&caller, &own);
  return 0;
}
