// A program with the dump routine in it: "dumping COUNT" keeps a list of COUNT objects, each with a
// text without pointers. "dump MODE PATH" calls the routine; other questions get an answer, but
// have no effect.

#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heapattach.h"

struct link {
  struct link* next;
  char* text;
  uint64_t value;
};

static struct link* first;
static volatile long made_by_others;

static void build(long count) {
  for (long i = 0; i < count; ++i) {
    struct link* made = GC_MALLOC(sizeof *made);
    made->next = first;
    made->text = GC_MALLOC_ATOMIC(20);
    made->value = (uint64_t)i;
    strcpy(made->text, "text of an object");
    first = made;
  }
}

static void* make_garbage(void* nothing) {
  for (;;) {
    if (GC_MALLOC(48) == NULL) return nothing;
    ++made_by_others;
    usleep(100);
  }
  return nothing;
}

int main(int count, char** words) {
  GC_INIT();
  build(count > 1 ? strtol(words[1], NULL, 10) : 1000);
  if (count > 2) {
    pthread_t other;
    pthread_create(&other, NULL, make_garbage, NULL);
  }
  printf("ready first=%lld\n", (long long)(intptr_t)first);
  fflush(stdout);
  char line[4096];
  while (fgets(line, sizeof line, stdin) != NULL) {
    long dumped = 0;
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "dump ", 5) == 0) dumped = heapattach_dump(line + 7, line[5] - '0');
    long length = 0;
    for (const struct link* at = first; at != NULL; at = at->next) ++length;
    printf("dumped=%ld length=%ld others=%ld\n", dumped, length, made_by_others);
    fflush(stdout);
  }
  return 0;
}
