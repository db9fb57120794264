// Threads wait in every kind of position from which a stack can be walked; each is named after its
// position. Prints "ready" when all of them wait. The argument is the depth of a recursion.

#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "thread_state.h"

#define OWN __attribute__((noinline))

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static long depth = 30;

// One thread and the position where it waits.
struct way {
  const char* name;
  void (*stand)(struct way*);
  atomic_int tid;  // set just before it waits
  pthread_t thread;
};

static void come_to_stand(struct way* way) {
  atomic_store(&way->tid, (int)syscall(SYS_gettid));
}

static atomic_int never;  // makes the compiler keep the code after a call that does not return

OWN static void sleep_long(struct way* way) {
  const struct timespec long_time = {100000, 0};
  come_to_stand(way);
  while (nanosleep(&long_time, NULL) != 0 && errno == EINTR) {
  }
  atomic_fetch_add(&never, 1);
}

// Has many arguments, some of them on the stack.
OWN static int pass_many(struct way* way, int a, int b, int c, int d, int e, int f, int g, int h) {
  sleep_long(way);
  return a + b + c + d + e + f + g + h + atomic_load(&never);
}
OWN static void in_nanosleep(struct way* way) {
  atomic_fetch_add(&never, pass_many(way, 1, 2, 3, 4, 5, 6, 7, atomic_load(&never)));
}

OWN static void in_condition(struct way* way) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  come_to_stand(way);
  while (atomic_load(&never) >= 0) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

OWN static void in_mutex(struct way* way) {
  come_to_stand(way);
  pthread_mutex_lock(&taken);
  atomic_fetch_add(&never, 1);
}

OWN static void in_poll(struct way* way) {
  come_to_stand(way);
  poll(NULL, 0, -1);
  atomic_fetch_add(&never, 1);
}

// The last call of this function has no instruction after it.
OWN __attribute__((noreturn)) static void never_back(struct way* way) {
  sleep_long(way);
  abort();
}
OWN __attribute__((noreturn)) static void in_noreturn(struct way* way) {
  atomic_fetch_add(&never, 1);
  never_back(way);
}

OWN static long recurse(struct way* way, long left) {
  if (left == 0) {
    sleep_long(way);
    return 1;
  }
  return recurse(way, left - 1) + atomic_load(&never);
}
OWN static void in_recursion(struct way* way) {
  atomic_fetch_add(&never, (int)recurse(way, depth));
}

static inline __attribute__((always_inline)) void third_inlined(struct way* way) {
  sleep_long(way);
}
static inline __attribute__((always_inline)) int second_inlined(struct way* way, int number) {
  if (number < 0) return 7;
  third_inlined(way);
  return number + 1;
}
static inline __attribute__((always_inline)) int first_inlined(struct way* way, int number) {
  return second_inlined(way, number) * 3;
}
OWN static void in_inlined(struct way* way) {
  atomic_fetch_add(&never, first_inlined(way, atomic_load(&never)));
}

static __thread struct way* sorted_by;
OWN static int compare(const void* a, const void* b) {
  sleep_long(sorted_by);
  return *(const int*)a - *(const int*)b;
}
OWN static void in_callback(struct way* way) {
  int numbers[] = {3, 1, 2};
  sorted_by = way;
  qsort(numbers, 3, sizeof numbers[0], compare);
  atomic_fetch_add(&never, numbers[0]);
}

// The beginning of this function's frame is described only by an expression.
OWN static void in_aligned(struct way* way) {
  __attribute__((aligned(64))) volatile char bytes[192];
  volatile char* const more = alloca((size_t)atomic_load(&never) + 100);
  bytes[0] = 1;
  more[0] = 1;
  sleep_long(way);
  atomic_fetch_add(&never, bytes[0] + more[0]);
}

static __thread struct way* signalled;
OWN static void hold_signal(void) {
  sleep_long(signalled);
}
static void on_signal(int number) {
  (void)number;
  hold_signal();
}
static void on_signal_with_more(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  (void)context;
  hold_signal();
  atomic_fetch_add(&never, 1);
}

static void raise_own(int number) {
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

// A signal interrupts this function at an instruction that is not a call.
OWN static int divide(volatile int* by) {
  return 10 / *by;
}
OWN static void in_fault_handler(struct way* way) {
  volatile int zero = 0;
  signalled = way;
  atomic_fetch_add(&never, divide(&zero));
}

// A signal interrupts a system call; its handler has a stack of its own.
OWN static void in_other_stack(struct way* way) {
  const stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&other, NULL);
  signalled = way;
  raise_own(SIGUSR1);
  atomic_fetch_add(&never, 1);
}

// Single-steps to a position where a thread cannot wait.
static __thread int (*is_there)(uintptr_t);
static void on_step(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  ucontext_t* const user = context;
  if (is_there == NULL || !is_there((uintptr_t)user->uc_mcontext.gregs[REG_RIP])) return;
  is_there = NULL;
  user->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
  hold_signal();
}
static void step_until(int (*there)(uintptr_t)) {
  is_there = there;
  __asm__ volatile(
      "lea -128(%%rsp), %%rsp; pushf; orl $0x100, (%%rsp); popf; lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}

OWN static void call_outside(void) {
  step_until(is_there);
  atomic_fetch_add(&never, (int)getppid());
}
// Whether `pc` is outside of the functions above, and so in the stub of a function in another
// module.
static int is_in_stub(uintptr_t pc) {
  return pc - (uintptr_t)call_outside > 0x200 && pc - (uintptr_t)step_until > 0x100;
}
OWN static void in_stub(struct way* way) {
  signalled = way;
  is_there = is_in_stub;
  call_outside();
  atomic_fetch_add(&never, 1);
}

static int is_in_vdso(uintptr_t pc) {
  const uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
  return pc - vdso < 0x2000;
}
OWN static void read_clock(void) {
  struct timespec now;
  step_until(is_in_vdso);
  clock_gettime(CLOCK_MONOTONIC, &now);
  atomic_fetch_add(&never, (int)now.tv_nsec);
}
OWN static void in_vdso(struct way* way) {
  signalled = way;
  read_clock();
  atomic_fetch_add(&never, 1);
}

static struct way ways[] = {
    {.name = "nanosleep", .stand = in_nanosleep},
    {.name = "condition", .stand = in_condition},
    {.name = "mutex", .stand = in_mutex},
    {.name = "poll", .stand = in_poll},
    {.name = "noreturn", .stand = in_noreturn},
    {.name = "recursion", .stand = in_recursion},
    {.name = "inlined", .stand = in_inlined},
    {.name = "callback", .stand = in_callback},
    {.name = "aligned", .stand = in_aligned},
    {.name = "fault", .stand = in_fault_handler},
    {.name = "other-stack", .stand = in_other_stack},
    {.name = "stub", .stand = in_stub},
    {.name = "vdso", .stand = in_vdso},
};
enum { kWays = sizeof ways / sizeof ways[0] };

static void* run(void* argument) {
  struct way* const way = argument;
  pthread_setname_np(pthread_self(), way->name);
  way->stand(way);
  return NULL;
}

static void handle(int number, int flags, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = flags | SA_SIGINFO;
  sigaction(number, &action, NULL);
}

int main(int count, char** arguments) {
  if (count > 1) depth = atol(arguments[1]);
  struct sigaction plain;
  memset(&plain, 0, sizeof plain);
  plain.sa_handler = on_signal;
  sigaction(SIGFPE, &plain, NULL);
  handle(SIGUSR1, SA_ONSTACK, on_signal_with_more);
  handle(SIGTRAP, 0, on_step);
  pthread_mutex_lock(&taken);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)depth * 256 + (1 << 20));
  for (int i = 0; i < kWays; ++i) pthread_create(&ways[i].thread, &attributes, run, &ways[i]);
  const struct timespec moment = {0, 1000000};
  for (int i = 0; i < kWays; ++i) {
    while (atomic_load(&ways[i].tid) == 0 || state_of_thread(ways[i].tid) != 'S')
      nanosleep(&moment, NULL);
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
