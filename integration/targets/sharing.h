#pragma once

// A process that shares only the descriptors of its parent, and so is not stopped with it. It
// attacks the memory of a trace as soon as that memory has a descriptor.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sharer {
  atomic_long swapped, shortened, refused;
};
static struct sharer* sharer;

static int is_ring(int file) {
  char path[64];
  char name[64] = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return readlink(path, name, sizeof name - 1) > 0 && strstr(name, "memfd:heapattach-ring") != NULL;
}

static int find_ring(void) {
  for (int file = 3; file < 64; ++file) {
    if (is_ring(file)) return file;
  }
  return -1;
}

// Replaces the memory's descriptor with another file, which stays there until the next call.
static void swap(int number, int other) {
  static int last = -1;
  if (dup2(other, number) != number) return;
  if (last >= 0) close(last);
  last = number;
  atomic_fetch_add(&sharer->swapped, 1);
}

// Tries to shorten the memory whenever it has pages, through a descriptor of its own.
static void shorten(int number) {
  const int own = fcntl(number, F_DUPFD_CLOEXEC, 200);
  struct stat status;
  for (int i = 0; own >= 0 && i < 2000; ++i) {
    if (fstat(own, &status) == 0 && status.st_blocks > 100) {
      atomic_fetch_add(ftruncate(own, 0) == 0 ? &sharer->shortened : &sharer->refused, 1);
    }
    usleep(100);
  }
  close(own);
}

// `path` is the file that replaces the memory, opened with O_PATH; null: shorten the memory.
static void start_sharer(const char* path) {
  sharer = mmap(NULL, sizeof *sharer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int other = path == NULL ? -1 : open(path, O_PATH | O_CLOEXEC);
  if (sharer == MAP_FAILED || (path != NULL && other < 0)) exit(5);
  if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    const int number = find_ring();
    if (number < 0) continue;
    if (other >= 0) swap(number, other);
    if (other < 0) shorten(number);
  }
}
