/* The least that copying another process's memory can cost: bare_copy PID FIRST-LAST... reads the
 * ranges (hex) with process_vm_readv on one thread, and prints two times in milliseconds: into a
 * buffer that is fresh from the kernel, and into one whose pages are there already. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

enum { kStepBytes = 64 << 20 };

struct range {
  uintptr_t first;
  uintptr_t last;
};

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static char* new_buffer(size_t bytes) {
  void* made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) {
    perror("bare_copy: mmap");
    exit(1);
  }
  return made;
}

static double copy(pid_t pid, const struct range* ranges, int count, char* into) {
  const double start = now_ms();
  for (int i = 0; i < count; ++i) {
    uintptr_t at = ranges[i].first;
    while (at < ranges[i].last) {
      const size_t left = ranges[i].last - at;
      const size_t step = left < kStepBytes ? left : kStepBytes;
      struct iovec local = {into, step};
      struct iovec remote = {(void*)at, step}; /* an address of theirs, not ours */
      const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
      if (got <= 0) {
        fprintf(stderr, "bare_copy: reading %" PRIxPTR ": %s\n", at, strerror(errno));
        exit(1);
      }
      at += (size_t)got;
      into += got;
    }
  }
  return now_ms() - start;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: bare_copy PID FIRST-LAST...\n");
    return 2;
  }
  const pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
  const int count = argc - 2;
  struct range* ranges = calloc((size_t)count, sizeof *ranges);
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (sscanf(argv[i + 2], "%" SCNxPTR "-%" SCNxPTR, &ranges[i].first, &ranges[i].last) != 2) {
      fprintf(stderr, "bare_copy: not a range: %s\n", argv[i + 2]);
      return 2;
    }
    bytes += ranges[i].last - ranges[i].first;
  }
  char* buffer = new_buffer(bytes);
  const double fresh = copy(pid, ranges, count, buffer);
  const double faulted = copy(pid, ranges, count, buffer);
  printf("%.3f %.3f %zu\n", fresh, faulted, bytes);
  return 0;
}
