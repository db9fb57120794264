// Three threads wait for each other's locks in a ring, two mutexes and a read-write lock. One more
// thread waits for a mutex of the ring, one on a condition variable, and one in a read. Prints
// "ready" once all of them wait.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kRing = 3, kThreads = 6 };

static pthread_mutex_t locks[kRing];
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;  // in place of the last mutex
static pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_hold;
static int nobody_writes[2];
static volatile int tids[kThreads];

static void name_thread(const char* name, int number) {
  char text[16];
  snprintf(text, sizeof text, "%s-%d", name, number);
  prctl(PR_SET_NAME, text);
}

static void take_next(int number) {
  tids[number] = (int)syscall(SYS_gettid);
  if (number + 1 == kRing - 1) {
    pthread_rwlock_rdlock(&table);
  } else {
    pthread_mutex_lock(&locks[(number + 1) % kRing]);
  }
}

static void* stand_in_ring(void* argument) {
  const int number = (int)(long)argument;
  name_thread("ring", number);
  if (number == kRing - 1) {
    pthread_rwlock_wrlock(&table);
  } else {
    pthread_mutex_lock(&locks[number]);
  }
  pthread_barrier_wait(&all_hold);
  take_next(number);
  return NULL;
}

static void* wait_outside(void* argument) {
  name_thread("outside", 0);
  pthread_barrier_wait(&all_hold);
  tids[kRing] = (int)syscall(SYS_gettid);
  pthread_mutex_lock(&locks[0]);
  return argument;
}

static void* wait_for_condition(void* argument) {
  name_thread("condition", 0);
  pthread_mutex_lock(&quiet);
  tids[kRing + 1] = (int)syscall(SYS_gettid);
  while (1) pthread_cond_wait(&never, &quiet);
  return argument;
}

static void* read_pipe(void* argument) {
  char byte;
  name_thread("reader", 0);
  tids[kRing + 2] = (int)syscall(SYS_gettid);
  if (read(nobody_writes[0], &byte, 1) != 1) abort();
  return argument;
}

static int is_asleep(int tid) {
  char path[64];
  char text[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  const char* end = strrchr(text, ')');
  return end != NULL && end[2] == 'S';
}

int main(void) {
  pthread_t threads[kThreads];
  if (pipe(nobody_writes) != 0) return 1;
  pthread_barrier_init(&all_hold, NULL, kRing + 1);
  for (int i = 0; i < kRing; ++i) pthread_mutex_init(&locks[i], NULL);
  for (long i = 0; i < kRing; ++i) pthread_create(&threads[i], NULL, stand_in_ring, (void*)i);
  pthread_create(&threads[kRing], NULL, wait_outside, NULL);
  pthread_create(&threads[kRing + 1], NULL, wait_for_condition, NULL);
  pthread_create(&threads[kRing + 2], NULL, read_pipe, NULL);
  for (int i = 0; i < kThreads; ++i) {
    while (tids[i] == 0 || !is_asleep(tids[i])) usleep(1000);
  }
  printf("ready ring0=%d outside=%d\n", tids[0], tids[kRing]);
  fflush(stdout);
  pause();
  return 0;
}
