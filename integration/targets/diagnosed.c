// Puts itself into the state that its argument names, an incident or a healthy state;
// integration/diagnose_test.cpp has the verdict for each. Prints "ready" when the state is built.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1UL << 20)

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t audit = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static void* volatile kept[400000];
static volatile unsigned long counter;

static void ready(void) {
  puts("ready");
  fflush(stdout);
}

static void ready_for_good(void) {
  ready();
  for (;;) pause();
}

static void start(void* (*run)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) != 0) abort();
}

// Overwrites the stack, so that no address of a lost allocation stays there or in a register.
static __attribute__((noinline)) void forget(void) {
  volatile char stack[16384];
  memset((char*)stack, 0, sizeof stack);
}

// Incidents.

static void* audit_then_accounts(void* unused) {
  pthread_mutex_lock(&audit);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&accounts);
  return unused;
}

static void deadlock(void) {
  pthread_barrier_init(&both, NULL, 2);
  pthread_mutex_lock(&accounts);
  start(audit_then_accounts, NULL);
  pthread_barrier_wait(&both);
  ready();
  pthread_mutex_lock(&audit);
}

static void* lock_and_end(void* mutex) {
  pthread_mutex_lock(mutex);
  return NULL;
}

static void lost_lock(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, lock_and_end, &accounts);
  pthread_join(thread, NULL);
  ready();
  pthread_mutex_lock(&accounts);
}

static void* worker(void* unused) {
  pthread_mutex_lock(&accounts);
  for (;;) pthread_cond_wait(&work, &accounts);
  return unused;
}

static void all_waiting(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  usleep(50000);
  ready();
  pthread_join(thread, NULL);
}

static void spin(void) {
  ready();
  for (;;) ++counter;
}

static __attribute__((noinline)) void lose(size_t bytes) {
  char* lost = malloc(bytes);
  memset(lost, 'x', bytes);
}

static void leak(void) {
  for (int i = 0; i < 5000; ++i) lose(48);
  forget();
  ready_for_good();
}

static void large_leak(void) {
  for (int i = 0; i < 3; ++i) lose(2 * MIB);
  forget();
  ready_for_good();
}

static void fragmented(void) {
  for (int i = 0; i < 300000; ++i) kept[i] = malloc(200);
  for (int i = 0; i < 300000; ++i) {
    if (i % 8 == 0) continue;
    free(kept[i]);
    kept[i] = NULL;
  }
  ready_for_good();
}

static void mapped_file(void) {
  char name[] = "/tmp/diagnosed-data.XXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0 || ftruncate(fd, 100 * MIB) != 0) abort();
  char* data = mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  memset(data, 'x', 100 * MIB);
  unlink(name);
  ready_for_good();
}

static void own_pool(void) {
  char* pool = mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pool, 'x', 100 * MIB);
  ready_for_good();
}

static void descriptors(void) {
  const struct rlimit limit = {256, 256};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (open("/etc/hostname", O_RDONLY) < 240) continue;
  ready_for_good();
}

static void same_file(void) {
  for (int i = 0; i < 300; ++i) open("/etc/hostname", O_RDONLY);
  ready_for_good();
}

static void mappings(void) {
  size_t most = 65530;
  FILE* file = fopen("/proc/sys/vm/max_map_count", "r");
  if (file == NULL || fscanf(file, "%zu", &most) != 1) abort();
  const size_t pages = most / 10 * 9;
  char* area = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < pages; i += 2) mprotect(area + i * 4096, 4096, PROT_NONE);
  ready_for_good();
}

// A lock is held when the process forks. The child waits for the lock, and the parent waits for the
// child.
static void* hold(void* unused) {
  pthread_mutex_lock(&accounts);
  pause();
  return unused;
}

static void forked_lock(void) {
  start(hold, NULL);
  usleep(50000);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_mutex_lock(&accounts);
  }
  usleep(50000);
  printf("ready child=%d\n", child);
  fflush(stdout);
  waitpid(child, NULL, 0);
}

static void* want(void* unused) {
  pthread_mutex_lock(&accounts);
  return unused;
}

static void lost_lock_of_many(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, lock_and_end, &accounts);
  pthread_join(thread, NULL);
  for (int i = 0; i < 200; ++i) start(want, NULL);
  usleep(100000);
  ready_for_good();
}

// malloc keeps whole pages that are free.
static void untrimmed(void) {
  for (int i = 0; i < 100000; ++i) kept[i] = memset(malloc(600), 'x', 600);
  for (int i = 0; i < 100000; ++i) {
    if (i % 100 == 0) continue;
    free(kept[i]);
    kept[i] = NULL;
  }
  ready_for_good();
}

// Prints "ready" without stdio, which would allocate.
static void say_ready(void) {
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) abort();
  for (;;) pause();
}

static void never_malloc(void) {
  char* pool = mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pool, 'x', 100 * MIB);
  say_ready();
}

static void many_files(void) {
  char folder[] = "/tmp/diagnosed-parts.XXXXXX";
  if (mkdtemp(folder) == NULL) abort();
  for (int i = 0; i < 200; ++i) {
    char name[100];
    snprintf(name, sizeof name, "%s/%d", folder, i);
    const int fd = open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, MIB / 2) != 0) abort();
    memset(mmap(NULL, MIB / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 'x', MIB / 2);
    unlink(name);
    close(fd);
  }
  rmdir(folder);
  ready_for_good();
}

static char table[100 * MIB];

static void large_table(void) {
  memset(table, 'x', sizeof table);
  ready_for_good();
}

static void shared_memory(void) {
  char* shared = mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  memset(shared, 'x', 100 * MIB);
  ready_for_good();
}

static void own_break(void) {
  memset(sbrk(100 * MIB), 'x', 100 * MIB);
  ready_for_good();
}

// Nearly uses up the limit on the address space. The table above takes a part of it, too.
static void address_space(void) {
  const struct rlimit limit = {400 * MIB, 400 * MIB};
  setrlimit(RLIMIT_AS, &limit);
  mmap(NULL, 270 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ready_for_good();
}

static __attribute__((noinline)) int descend(int levels) {
  volatile char frame[65536];
  frame[0] = frame[sizeof frame - 1] = (char)levels;
  if (levels == 0) {
    ready();
    return pause();
  }
  return descend(levels - 1) + frame[0];
}

static void deep_stack(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = 4 * MIB;
  setrlimit(RLIMIT_STACK, &limit);
  descend(58);
}

static void await_line(void) {
  for (int letter = getchar(); letter != '\n' && letter != EOF; letter = getchar()) continue;
}

// Adds sessions when it reads a line.
static void grow(void) {
  static void* volatile sessions;
  for (int i = 0; i < 1000; ++i) kept[i] = malloc(100);
  ready();
  await_line();
  for (int i = 0; i < 20000; ++i) {
    void** session = malloc(100);
    *session = sessions;
    sessions = session;
  }
  puts("grown=1");
  fflush(stdout);
  for (;;) pause();
}

// Nearly fills a control group of 64 MiB when it reads a line.
static void fill_group(void) {
  ready();
  await_line();
  char* pool = mmap(NULL, 61 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pool, 'x', 61 * MIB);
  puts("filled=1");
  fflush(stdout);
  for (;;) pause();
}

// Asks the kernel to swap most of its memory out.
static void swapped(void) {
  const size_t bytes = 96 * MIB;
  const int kPageOut = 21;  // MADV_PAGEOUT, since Linux 5.4
  char* pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < bytes; i += sizeof(int)) *(int*)(pool + i) = rand();
  madvise(pool, bytes, kPageOut);
  ready_for_good();
}

// Health.

static void idle(void) {
  const int events = epoll_create1(0);
  const int never = eventfd(0, 0);
  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = never}};
  epoll_ctl(events, EPOLL_CTL_ADD, never, &event);
  ready();
  epoll_wait(events, &event, 1, -1);
}

static void pool(void) {
  for (int i = 0; i < 8; ++i) start(worker, NULL);
  usleep(50000);
  ready_for_good();
}

// Leaders and followers: one waits for work with the lock, the others wait for the lock.
static void* follower(void* unused) {
  pthread_mutex_lock(&accounts);
  pause();
  return unused;
}

static void take_turns(void) {
  for (int i = 0; i < 4; ++i) start(follower, NULL);
  usleep(50000);
  ready_for_good();
}

static void cache(void) {
  for (int i = 0; i < 200000; ++i) kept[i] = malloc(100);
  ready_for_good();
}

static char* texts[50000];

static void repeated(void) {
  for (int i = 0; i < 50000; ++i) texts[i] = strdup("a setting that each session has for itself");
  ready_for_good();
}

// Loses a few small allocations, as most programs do.
static void few_lost(void) {
  for (int i = 0; i < 40; ++i) lose(64);
  for (int i = 0; i < 20000; ++i) kept[i] = malloc(100);
  forget();
  ready_for_good();
}

static void freed(void) {
  for (int i = 0; i < 300000; ++i) kept[i] = malloc(200);
  for (int i = 0; i < 300000; ++i) {
    free(kept[i]);
    kept[i] = NULL;
  }
  ready_for_good();
}

// Makes connections whose addresses only the kernel has.
static __attribute__((noinline)) void connect_all(int events) {
  for (int i = 0; i < 500; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = malloc(256)}};
    epoll_ctl(events, EPOLL_CTL_ADD, eventfd(0, 0), &event);
  }
}

static void connections(void) {
  const int events = epoll_create1(0);
  connect_all(events);
  forget();
  ready();
  struct epoll_event event;
  epoll_wait(events, &event, 1, -1);
}

static void churn(void) {
  ready();
  for (;;) {
    const unsigned at = (unsigned)rand() % 1000;
    free(kept[at]);
    kept[at] = malloc((unsigned)rand() % 4000);
    usleep(100);
  }
}

// A list whose links are not addresses, which looks like a leak from outside.
struct link {
  uintptr_t next;
  char value[48];
};
static uintptr_t hidden_list;

static __attribute__((noinline)) void hide_list(void) {
  for (int i = 0; i < 5000; ++i) {
    struct link* link = malloc(sizeof *link);
    link->next = hidden_list;
    hidden_list = ~(uintptr_t)link;
  }
}

static void hidden(void) {
  hide_list();
  forget();
  ready_for_good();
}

static const struct {
  const char* name;
  void (*run)(void);
} kModes[] = {
    {"deadlock", deadlock},
    {"lost_lock", lost_lock},
    {"all_waiting", all_waiting},
    {"spin", spin},
    {"leak", leak},
    {"large_leak", large_leak},
    {"fragmented", fragmented},
    {"mapped_file", mapped_file},
    {"own_pool", own_pool},
    {"descriptors", descriptors},
    {"same_file", same_file},
    {"mappings", mappings},
    {"forked_lock", forked_lock},
    {"lost_lock_of_many", lost_lock_of_many},
    {"untrimmed", untrimmed},
    {"never_malloc", never_malloc},
    {"many_files", many_files},
    {"large_table", large_table},
    {"shared_memory", shared_memory},
    {"own_break", own_break},
    {"address_space", address_space},
    {"deep_stack", deep_stack},
    {"grow", grow},
    {"fill_group", fill_group},
    {"swapped", swapped},
    {"hidden", hidden},
    {"idle", idle},
    {"pool", pool},
    {"take_turns", take_turns},
    {"cache", cache},
    {"repeated", repeated},
    {"few_lost", few_lost},
    {"freed", freed},
    {"connections", connections},
    {"churn", churn},
};

int main(int count, char** arguments) {
  for (size_t i = 0; count > 1 && i < sizeof kModes / sizeof kModes[0]; ++i) {
    if (strcmp(kModes[i].name, arguments[1]) == 0) kModes[i].run();
  }
  return 2;
}
