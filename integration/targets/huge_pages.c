// A process that was forked with private huge pages, and so has no claim to further ones: prints
//     ready worker=PID
// and waits for the end of its standard input, while the worker writes to its pages all the time.
// If the kernel has no huge pages, it prints "ready worker=0".
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 2 << 20 };

static void* volatile kept;

int main(void) {
  kept = malloc(100);
  volatile char* const pages =
      mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  pid_t worker = 0;
  int ends[2];
  if (pages != MAP_FAILED && pipe(ends) == 0) {
    pages[0] = 1;
    worker = fork();
    if (worker == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // Until this process has given up its share, a write would need a second page.
      char is_alone;
      if (read(ends[0], &is_alone, 1) != 1) _exit(1);
      for (char pass = 0;; ++pass) {
        pages[4096] = pass;
        usleep(1000);
      }
    }
    munmap((void*)pages, kBytes);
    if (write(ends[1], "x", 1) != 1) return 1;
  }
  printf("ready worker=%d\n", (int)worker);
  fflush(stdout);
  const int is_good = getchar() == EOF;
  if (worker > 0) kill(worker, SIGKILL);
  return is_good ? 0 : 1;
}
