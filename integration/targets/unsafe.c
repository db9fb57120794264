// A program whose only thread waits where no function may be called: "unsafe WHERE". WHERE is
// malloc, loader, handler or, with the collector's library, collector. It answers questions from
// there.

#define _GNU_SOURCE
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_COLLECTOR
#include <gc.h>
#include <gc/gc_mark.h>
#endif

static volatile long calls;

long add_one(long number) {
  ++calls;
  return number + 1;
}

static void put(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(1);
}

// Answers questions until the test is gone.
static void answer(void) {
  char line[64];
  put("ready\n");
  while (read(STDIN_FILENO, line, sizeof line) > 0) put(calls == 0 ? "calls=0\n" : "calls=1\n");
  _exit(0);
}

static ssize_t answer_for_malloc(void* cookie, const char* text, size_t size) {
  (void)cookie, (void)text;
  answer();
  return (ssize_t)size;
}

static int answer_for_loader(struct dl_phdr_info* info, size_t size, void* nothing) {
  (void)info, (void)size, (void)nothing;
  answer();
  return 0;
}

static void answer_for_signal(int number) {
  (void)number;
  answer();
}

int main(int count, char** words) {
  const char* where = count > 1 ? words[1] : "";
  if (strcmp(where, "malloc") == 0) {
    const cookie_io_functions_t writing = {.write = answer_for_malloc};
    FILE* file = fopencookie(NULL, "w", writing);
    setvbuf(file, NULL, _IONBF, 0);
    malloc_info(0, file);
  }
  if (strcmp(where, "loader") == 0) dl_iterate_phdr(answer_for_loader, NULL);
  if (strcmp(where, "handler") == 0) {
    signal(SIGUSR1, answer_for_signal);
    raise(SIGUSR1);
  }
#ifdef WITH_COLLECTOR
  GC_INIT();
  GC_set_start_callback(answer);
  GC_gcollect();
#endif
  return 1;
}
