// Functions to be called in a clone, good ones and bad ones. "report" says what of them has reached
// the process itself: nothing may.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long beats;
static volatile long calls;
static volatile long* shared;
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
  pthread_t threads[2];
  pthread_barrier_t held;
  struct sigaction counting = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &counting, NULL);
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrier_init(&held, NULL, 2);
  pthread_create(&threads[0], NULL, beat, NULL);
  pthread_create(&threads[1], NULL, hold_lock, &held);
  pthread_barrier_wait(&held);
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("calls=%ld shared=%ld signals=%d beats=%ld\n", calls, *shared, (int)signals, beats);
    fflush(stdout);
    printf("unwritten=1 "); /* for the next answer, and for no call */
  }
  return 0;
}
