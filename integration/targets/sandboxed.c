// Allocates, and puts itself under rules that kill for most system calls, with a second thread that
// does the same on request. "make" makes 1,000 objects in each thread. "strict" puts the first
// thread into strict mode. "filter" puts it under a filter that kills for all calls but read, write
// and exit, and "all" does so with both threads. "helper" makes objects only in the second thread.
// With "alone" on its command line, it waits until it is traced, does "all", makes objects and
// ends.

#define _GNU_SOURCE
#define GC_THREADS
#include <gc.h>
#include <gc/gc_inline.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kObjects = 1000, kJump = 0xe9 };

static int to_helper[2], from_helper[2];
static long made, bad;

__attribute__((noinline)) static void make_one(void) {
  char* object = GC_MALLOC(48);
  if (object == NULL || object[0] != 0 || object[47] != 0) ++bad;
  ++made;
}

static void make(void) {
  for (int i = 0; i < kObjects; ++i) make_one();
}

static void* help(void* unused) {
  char letter;
  while (read(to_helper[0], &letter, 1) == 1) {
    make();
    if (write(from_helper[1], &letter, 1) != 1) ++bad;
  }
  return unused;
}

static void make_in_helper(void) {
  char letter = 'x';
  if (write(to_helper[1], &letter, 1) != 1 || read(from_helper[0], &letter, 1) != 1) ++bad;
}

static void enter_filter(unsigned flags) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0) {
    ++bad;
  }
}

static void report(void) {
  char line[64];
  const int length = snprintf(line, sizeof line, "made=%ld bad=%ld\n", made, bad);
  if (write(1, line, (size_t)length) != length) ++bad;
}

static void do_command(const char* line) {
  if (strcmp(line, "make") == 0) make();
  if (strcmp(line, "make") == 0 || strcmp(line, "helper") == 0) make_in_helper();
  if (strcmp(line, "strict") == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ++bad;
  if (strcmp(line, "filter") == 0) enter_filter(0);
  if (strcmp(line, "all") == 0) enter_filter(SECCOMP_FILTER_FLAG_TSYNC);
}

static void run_alone(void) {
  while (*(volatile unsigned char*)GC_malloc_kind != kJump) usleep(1000);
  do_command("all");
  for (int i = 0; i < 50; ++i) do_command("make");
  report();
  syscall(SYS_exit_group, bad == 0 ? 0 : 1);
}

int main(int count, char** words) {
  // A marker thread would wait in a system call. After a stop, the kernel would restart that call
  // under the filter.
  if (setenv("GC_MARKERS", "1", 1) != 0) return 1;
  GC_INIT();
  GC_allow_register_threads();
  // A collection or a growing heap would need other system calls. So the heap is grown here, and
  // the headers of blocks that become free serve later blocks.
  GC_expand_hp(64 << 20);
  for (int i = 0; i < 8000; ++i) (void)GC_MALLOC_ATOMIC(2000);
  GC_gcollect();
  GC_disable();
  pthread_t helper;
  if (pipe(to_helper) != 0 || pipe(from_helper) != 0 ||
      pthread_create(&helper, NULL, help, NULL) != 0) {
    return 1;
  }
  // The first objects and the first text need other system calls, too.
  for (int i = 0; i < 20; ++i) do_command("make");
  made = 0;
  char line[64];
  snprintf(line, sizeof line, "made=%ld bad=%ld\n", made, bad);
  if (count > 1 && strcmp(words[1], "alone") == 0) run_alone();
  if (write(1, "ready\n", 6) != 6) return 1;
  size_t length = 0;
  while (read(0, line + length, 1) == 1) {
    if (line[length] != '\n' && length + 1 < sizeof line) {
      ++length;
      continue;
    }
    line[length] = '\0';
    length = 0;
    do_command(line);
    report();
  }
  syscall(SYS_exit_group, 0);
}
