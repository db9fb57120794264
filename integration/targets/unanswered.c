// A collected heap with memory whose provider never answers: "unanswered heap|root|later" registers
// pages with a userfaultfd that nobody serves, in an object of the heap or in a global variable.
// With "later", it does so only after the message "register". A thread that reads these pages
// sleeps for ever. Another thread waits without end, and counts interruptions.
//
//   ready objects=N at=ADDRESS bytes=N    the pages, which are or will be registered

#define GC_THREADS
#include <errno.h>
#include <fcntl.h>
#include <gc.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 16, kLinks = 5000 };

struct link {
  struct link* next;
  uint64_t value;
};

static struct link* first;
static void* heap_object;
static char global_memory[(kPages + 1) * kPage];
static atomic_int interrupted;

static void* wait_without_end(void* nothing) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event;
  for (;;) {
    if (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR) ++interrupted;
  }
  return nothing;
}

static int register_pages(char* at) {
  const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (fd < 0) return -1;
  struct uffdio_api api = {.api = UFFD_API};
  if (ioctl(fd, UFFDIO_API, &api) != 0) return -1;
  if (madvise(at, kPages * kPage, MADV_DONTNEED) != 0) return -1;
  struct uffdio_register pages = {.range = {(uintptr_t)at, kPages * kPage},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
  return ioctl(fd, UFFDIO_REGISTER, &pages);
}

int main(int argc, char** argv) {
  char line[64];
  const char* how = argc > 1 ? argv[1] : "heap";
  pthread_t waiter;
  GC_INIT();
  for (long i = 0; i < kLinks; ++i) {
    struct link* made = GC_MALLOC(sizeof *made);
    made->next = first;
    made->value = (uint64_t)i;
    first = made;
  }
  heap_object = GC_MALLOC((kPages + 2) * kPage);
  char* const memory = strcmp(how, "root") == 0 ? global_memory : heap_object;
  char* const at = (char*)(((uintptr_t)memory + kPage - 1) / kPage * kPage);
  memset(at, 0, kPages * kPage);
  if (strcmp(how, "later") != 0 && register_pages(at) != 0) {
    printf("ready userfaultfd=0\n");
    fflush(stdout);
    return 1;
  }
  if (pthread_create(&waiter, NULL, wait_without_end, NULL) != 0) return 1;
  printf("ready objects=%d at=%ld bytes=%d\n", kLinks, (long)(uintptr_t)at, kPages * kPage);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    int registered = 0;
    if (strncmp(line, "register", 8) == 0) registered = register_pages(at) == 0;
    printf("registered=%d interrupted=%d\n", registered, interrupted);
    fflush(stdout);
  }
  return 0;
}
