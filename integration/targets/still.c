// A heap that never changes: "still COUNT [--secret|--hide|--map FILE...]" builds one list of COUNT
// objects and waits for questions. After "rewrite N", a thread writes to each object its own
// contents, all the time. With --hide, one more object has a page that cannot be read. With --map,
// the first page of each file is mapped as code. The secrets are a text in an object without
// pointers, a text in an object with pointers, and a text in memory that no dump should have.

#define _GNU_SOURCE
#define GC_THREADS
#include <fcntl.h>
#include <gc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static char* secrets[3];

static void keep_secrets(void) {
  secrets[0] = GC_MALLOC_ATOMIC(64);
  secrets[1] = GC_MALLOC(64);
  secrets[2] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(secrets[2], 4096, MADV_DONTDUMP);
  strcpy(secrets[0], "sentinel-of-the-text");
  strcpy(secrets[1], "sentinel-of-the-object");
  strcpy(secrets[2], "sentinel-of-the-mapping");
}

static volatile long passes;

static void* rewrite(void* nothing) {
  for (;;) {
    for (struct link* at = first; at != NULL; at = at->next) {
      *(volatile uint64_t*)&at->value = at->value;
    }
    ++passes;
  }
  return nothing;
}

static long sum(void) {
  uint64_t total = 0;
  for (const struct link* at = first; at != NULL; at = at->next) total += at->value;
  return (long)total;
}

static int map_as_code(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const void* at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  close(fd);
  return at != MAP_FAILED;
}

static void* hidden;

// Puts an unreadable page into an object: a page of a file, after the file's end.
static int hide_page(void) {
  const int file = memfd_create("hidden", MFD_CLOEXEC);
  hidden = GC_MALLOC(16 * 4096);
  char* const page = (char*)(((uintptr_t)hidden + 2 * 4096) & ~(uintptr_t)4095);
  if (file < 0 || ftruncate(file, 4096) != 0) return 0;
  if (mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    return 0;
  }
  return ftruncate(file, 0) == 0;
}

int main(int argc, char** argv) {
  char line[64];
  int mapped = 0;
  const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  GC_INIT();
  build(count);
  if (argc > 2 && strcmp(argv[2], "--secret") == 0) keep_secrets();
  if (argc > 2 && strcmp(argv[2], "--hide") == 0 && !hide_page()) return 1;
  if (argc > 2 && strcmp(argv[2], "--map") == 0) {
    for (int i = 3; i < argc; ++i) mapped += map_as_code(argv[i]);
  }
  printf("ready objects=%ld mapped=%d\n", count, mapped);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strncmp(line, "rewrite ", 8) == 0) {
      pthread_t writer;
      build(strtol(line + 8, NULL, 10));
      if (pthread_create(&writer, NULL, rewrite, NULL) != 0) return 1;
    }
    printf("sum=%ld heap=%zu free=%zu passes=%ld\n", sum(), GC_get_heap_size(), GC_get_free_bytes(),
           passes);
    fflush(stdout);
  }
  return 0;
}
