// Functions to be called in a clone, harmless and harmful ones. "report" shows whether they have
// reached the process itself, which they must not.

#define _GNU_SOURCE

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long beats;
static volatile long calls;
static volatile long* shared;
static volatile long* segment; /* of System V */
static int semaphore;
static volatile sig_atomic_t signals;
long no_function = 4711;

long add_all(long a, long b, long c, long d, long e, long f, long g, long h) {
  ++calls;
  return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h;
}

const char* greet(const char* first, const char* second) {
  static char text[200];
  ++calls;
  snprintf(text, sizeof text, "%s, %s", first, second);
  return text;
}

int announce(const char* text) {
  fprintf(stderr, "about to speak\n");
  return printf("%s", text); /* stays in the buffer */
}

int minus_one(void) {
  return -1;
}

int crash(void) {
  ++calls;
  return *(volatile int*)8;
}

int loop_for_ever(void) {
  for (;;) ++calls;
}

int wait_for_lock(void) {
  pthread_mutex_lock(&lock);
  return ++calls;
}

int leave(int status) {
  exit(status);
}

int give_up(void) {
  abort();
}

int become_another(void) {
  return execl("/bin/echo", "echo", "another", (char*)NULL);
}

int start_another(void) {
  return system("echo started");
}

int write_shared(long value) {
  *shared = value;
  return 1;
}

int signal_parent(void) {
  return kill(getppid(), SIGUSR1) == 0;
}

/* Attempts to get out of a clone. Each returns 0 or more if it succeeded. */

long own_files(void) {
  int ends[2];
  if (pipe(ends) != 0 || fcntl(ends[0], F_SETOWN, getppid()) != 0) return -1;
  fcntl(ends[0], F_SETFL, O_ASYNC);
  return write(ends[1], "x", 1);
}

long raise_semaphore(void) {
  struct sembuf up = {0, 1, 0};
  return semop(semaphore, &up, 1);
}

/* Writes to memory shared by mmap and to memory shared by shmat; in a clone, both are private. */
long write_both(long value) {
  mprotect((void*)shared, 4096, PROT_READ | PROT_WRITE);
  *shared = *segment = value;
  return *shared + *segment;
}

long remove_shared(void) {
  return madvise((void*)shared, 4096, MADV_REMOVE);
}

long limit_parent(void) {
  struct rlimit few = {5, 5};
  return prlimit(getppid(), RLIMIT_NOFILE, &few, NULL);
}

long slow_parent(void) {
  return setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
}

long take_file(void) {
  const long process = syscall(SYS_pidfd_open, getppid(), 0);
  return process < 0 ? process : syscall(SYS_pidfd_getfd, process, 0, 0);
}

static long open_of_parent(const char* name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
  return open(path, flags);
}

long write_memory(void) {
  return open_of_parent("mem", O_RDWR);
}

long read_memory(void) {
  return open_of_parent("mem", O_RDONLY);
}

long read_environment(void) {
  return open_of_parent("environ", O_RDONLY);
}

long make_file(const char* path) {
  return open(path, O_WRONLY | O_CREAT, 0600);
}

/* A dump routine that never has enough. */
int flood(const char* path, long mode) {
  static char piece[1 << 16];
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  while (write(file, piece, sizeof piece) > 0) calls += mode;
  return 0;
}

static void* add_one(void* number) {
  ++*(long*)number;
  return NULL;
}

long with_a_thread(long number) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, add_one, &number) != 0) return -1;
  pthread_join(thread, NULL);
  return number;
}

static void* rest(void* nothing) {
  for (;;) pause();
  return nothing;
}

/* The first thread ends alone. */
long leave_a_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, rest, NULL) != 0) return -1;
  return syscall(SYS_exit, 5);
}

static void* breed(void* nothing) {
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &small, rest, NULL) != 0) break;
  }
  return nothing;
}

/* Ends the process while its threads start others. */
long breed_and_leave(int status) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, breed, NULL);
  usleep(5000);
  _exit(status);
}

static int rest_for_ever(void* nothing) {
  for (;;) pause();
  return nothing != NULL;
}

/* A thread that no tracer would see, with CLONE_UNTRACED, or with an exit signal. */
long hide_a_thread(long flags) {
  static char stack[1 << 16];
  return clone(
      rest_for_ever, stack + sizeof stack,
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | (int)flags,
      NULL);
}

/* The same, but does not return, so that a test can look at the thread. */
long hide_and_rest(long flags) {
  const long thread = hide_a_thread(flags);
  for (;;) pause();
  return thread;
}

/* Opens a file for reading, and then that descriptor for writing. */
long reopen(const char* path) {
  char own[64];
  const int reading = open(path, O_RDONLY);
  if (reading < 0) return -2;
  snprintf(own, sizeof own, "/proc/self/fd/%d", reading);
  const int writing = open(own, O_WRONLY);
  return writing < 0 ? -1 : write(writing, "!", 1);
}

/* Returns how many bytes it could read; -1 if it could not open the file. */
long take_from(const char* path) {
  char taken[16];
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return -1;
  const long bytes = read(file, taken, sizeof taken);
  return bytes < 0 ? 0 : bytes;
}

/* The same, by way of a descriptor opened with O_PATH. */
long take_by_name(const char* path) {
  char own[64];
  snprintf(own, sizeof own, "/proc/self/fd/%d", open(path, O_PATH));
  return take_from(own);
}

/* A futex in shared memory, and the same futex in a mapping that is only readable. */
static int* bell;
static const int* seen_bell;
static volatile long rings;

static long futex(const int* word, int operation, int count, long limit, int* other) {
  return syscall(SYS_futex, word, operation, count, limit, other, 0);
}

static void* wait_for_bell(void* nothing) {
  for (;;) {
    if (futex(bell, FUTEX_WAIT, 0, 0, NULL) == 0) ++rings;
  }
  return nothing;
}

/* Returns how many waiters it has moved to a futex that nobody wakes. */
long take_waiters(void) {
  static int elsewhere;
  return futex(seen_bell, FUTEX_REQUEUE, 0, 1000, &elsewhere);
}

long wake_waiters(void) {
  return futex(seen_bell, FUTEX_WAKE, 1000, 0, NULL);
}

static void hang_bell(void) {
  const int file = (int)syscall(SYS_memfd_create, "bell", 0);
  if (ftruncate(file, 4096) != 0) exit(1);
  bell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  seen_bell = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
}

static void count_signal(int number) {
  signals += number == SIGUSR1;
}

static void* beat(void* nothing) {
  for (;;) {
    ++beats;
    usleep(1000);
  }
  return nothing;
}

static void* hold_lock(void* held) {
  pthread_mutex_lock(&lock);
  pthread_barrier_wait(held);
  for (;;) pause();
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  pthread_barrier_t held;
  struct sigaction counting = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &counting, NULL);
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int key = shmget(IPC_PRIVATE, 4096, 0600);
  segment = shmat(key, NULL, 0);
  shmctl(key, IPC_RMID, NULL);
  semaphore = semget(IPC_PRIVATE, 1, 0600);
  pthread_barrier_init(&held, NULL, 2);
  pthread_create(&threads[0], NULL, beat, NULL);
  pthread_create(&threads[1], NULL, hold_lock, &held);
  pthread_barrier_wait(&held);
  hang_bell();
  pthread_create(&threads[2], NULL, wait_for_bell, NULL);
  printf("ready reopen=%ld take_from=%ld\n", (long)reopen, (long)take_from);
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    const long rung = futex(bell, FUTEX_WAKE, 1, 0, NULL);
    printf(
        "calls=%ld shared=%ld signals=%d beats=%ld semaphore=%d files=%ld nice=%d rings=%ld "
        "rung=%ld\n",
        calls, *shared + *segment, (int)signals, beats, semctl(semaphore, 0, GETVAL),
        (long)files.rlim_cur, getpriority(PRIO_PROCESS, 0), rings, rung);
    fflush(stdout);
    printf("unwritten=1 "); /* for the next answer, and for no call */
  }
  semctl(semaphore, 0, IPC_RMID);
  return 0;
}
