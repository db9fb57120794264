// Calls each function of malloc from a place of its own, and knows how often each place has
// allocated, and how many of its allocations were freed. "malloc_sites THREADS": each thread waits
// for "run ROUNDS", does that many rounds, and waits again; with "free", threads run without end.
// Each allocation begins with the number of its place. Allocations are in tables, from which
// another thread may take them to free or resize them. "fork" makes a child that allocates and
// frees, and waits for it. "leak N" forgets N allocations of two places. With "spawn", threads
// begin and end all the time.

#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline))
enum { kSlots = 512, kMostThreads = 16 };
enum Place {
  kPlain,
  kZeroed,
  kResized,
  kFirst,
  kFailed,
  kAligned,
  kBarelyAligned,
  kStored,
  kBarelyStored,
  kPaged,
  kCopied,
  kArray,
  kFreed,
  kLost,
  kLostToo,
  kPlaces
};
static const char* const kNames[kPlaces] = {
    "plain",         "zeroed", "resized", "first", "failed", "aligned", "barely_aligned", "stored",
    "barely_stored", "paged",  "copied",  "array", "freed",  "lost",    "lost_too"};

static atomic_long made[kPlaces], freed[kPlaces], rounds_done, bad, children;
static atomic_long rounds_wanted;
static void* _Atomic slots[kMostThreads][kSlots];
static const uint64_t kMark = 0x5ea5000000000000;

// The code after each allocation keeps the call from becoming a jump, which would leave no frame.
static void* mark(void* at, enum Place place) {
  if (at == NULL) {
    atomic_fetch_add(&bad, 1);
    return NULL;
  }
  *(uint64_t*)at = kMark | (uint64_t)place;
  atomic_fetch_add(&made[place], 1);
  return at;
}

static enum Place place_of(void* at) {
  const uint64_t word = *(uint64_t*)at;
  if ((word & ~(uint64_t)0xff) == kMark && (word & 0xff) < kPlaces)
    return (enum Place)(word & 0xff);
  atomic_fetch_add(&bad, 1);
  return kPlain;
}

static void release(void* at) {
  if (at == NULL) return;
  atomic_fetch_add(&freed[place_of(at)], 1);
  free(at);
}

SITE static void* make_plain(size_t bytes) {
  return mark(malloc(bytes), kPlain);
}
SITE static void* make_zeroed(size_t bytes) {
  uint64_t* const at = calloc(bytes / 8, 8);
  if (at != NULL && at[bytes / 8 - 1] != 0) atomic_fetch_add(&bad, 1);
  return mark(at, kZeroed);
}
SITE static void* make_resized(void* old, size_t bytes) {
  const enum Place before = place_of(old);
  void* const at = realloc(old, bytes);
  atomic_fetch_add(&freed[before], 1);
  return mark(at, kResized);
}
SITE static void* make_first(size_t bytes) {
  return mark(realloc(NULL, bytes), kFirst);
}
// This resizing fails, so the old memory does not change, and is not freed.
SITE static void* make_failed(size_t bytes) {
  void* const made_it = mark(malloc(bytes), kFailed);
  void* volatile same = made_it;
  volatile size_t too_much = SIZE_MAX / 4;
  if (realloc(same, too_much) != NULL) atomic_fetch_add(&bad, 1);
  return same;
}
SITE static void* make_aligned(size_t bytes) {
  return mark(aligned_alloc(256, bytes), kAligned);
}
SITE static void* make_barely_aligned(size_t bytes) {
  return mark(memalign(16, bytes), kBarelyAligned);
}
SITE static void* make_stored(size_t bytes) {
  void* at = NULL;
  if (posix_memalign(&at, 128, bytes) != 0) at = NULL;
  return mark(at, kStored);
}
SITE static void* make_barely_stored(size_t bytes) {
  void* at = NULL;
  if (posix_memalign(&at, 8, bytes) != 0) at = NULL;
  return mark(at, kBarelyStored);
}
SITE static void* make_paged(size_t bytes) {
  return mark(valloc(bytes), kPaged);
}
SITE static void* make_copied(void) {
  return mark(strdup("a text that is long enough for a mark"), kCopied);
}
SITE static void* make_array(size_t bytes) {
  return mark(reallocarray(NULL, bytes / 8, 8), kArray);
}
SITE static void make_freed(void) {
  release(mark(malloc(64), kFreed));
}
SITE static void make_lost(void) {
  mark(malloc(96), kLost);
}
SITE static void make_lost_too(void) {
  mark(calloc(1, 96), kLostToo);
}

static void put(long thread, unsigned slot, void* at) {
  release(atomic_exchange(&slots[thread][slot % kSlots], at));
}

static void do_round(long thread, unsigned random) {
  const size_t bytes = 32 + random % 400;
  put(thread, random >> 8, make_plain(bytes));
  put(thread, random >> 9, make_zeroed(bytes));
  put(thread, random >> 10, make_copied());
  make_freed();
  // Takes an allocation that another thread may have made.
  void* const taken = atomic_exchange(&slots[random % kMostThreads][(random >> 4) % kSlots], NULL);
  if (taken != NULL) put(thread, random >> 11, make_resized(taken, 32 + random % 3000));
  if (random % 4 == 0) put(thread, random >> 12, make_first(bytes));
  if (random % 8 == 0) put(thread, random >> 13, make_aligned(bytes));
  if (random % 8 == 1) put(thread, random >> 14, make_barely_aligned(bytes));
  if (random % 8 == 2) put(thread, random >> 15, make_stored(bytes));
  if (random % 8 == 3) put(thread, random >> 16, make_barely_stored(bytes));
  if (random % 8 == 4) put(thread, random >> 17, make_array(bytes));
  if (random % 8 == 5) put(thread, random >> 18, make_failed(bytes));
  if (random % 64 == 6) put(thread, random >> 19, make_paged(bytes));
  if (random % 64 == 7) put(thread, random >> 20, make_plain(200000 + random % 10000));
}

static unsigned next_random(unsigned* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void* work(void* number) {
  const long thread = (long)number;
  unsigned state = 12345 + (unsigned)thread;
  for (long round = 0;; ++round) {
    while (round >= atomic_load(&rounds_wanted)) usleep(200);
    do_round(thread, next_random(&state));
    atomic_fetch_add(&rounds_done, 1);
  }
  return NULL;
}

static void* end_at_once(void* unused) {
  unsigned state = 77;
  for (int i = 0; i < 3; ++i) do_round(0, next_random(&state));
  return unused;
}

static void* start_threads(void* unused) {
  for (;;) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, unused) == 0) pthread_join(thread, NULL);
  }
  return NULL;
}

static void fork_one(void) {
  const pid_t child = fork();
  if (child == 0) {
    unsigned state = 99;
    for (int i = 0; i < 2000; ++i) do_round(0, next_random(&state));
    _exit(atomic_load(&bad) == 0 ? 0 : 2);
  }
  int status = -1;
  const int ended = child > 0 && waitpid(child, &status, 0) == child && status == 0;
  atomic_fetch_add(ended ? &children : &bad, 1);
}

SITE static void wipe_stack(void) {
  volatile char used[65536];
  for (size_t i = 0; i < sizeof used; ++i) used[i] = 0;
}

static void leak(long count) {
  for (long i = 0; i < count; ++i) make_lost();
  for (long i = 0; i < count; ++i) make_lost_too();
  wipe_stack();
}

static void report(void) {
  printf("rounds=%ld bad=%ld children=%ld", atomic_load(&rounds_done), atomic_load(&bad),
         atomic_load(&children));
  for (int i = 0; i < kPlaces; ++i) {
    printf(" %s=%ld %s_freed=%ld", kNames[i], atomic_load(&made[i]), kNames[i],
           atomic_load(&freed[i]));
  }
  printf("\n");
  fflush(stdout);
}

int main(int count, char** words) {
  static char in[1024];
  static char out[4096];
  setvbuf(stdin, in, _IOLBF, sizeof in);
  setvbuf(stdout, out, _IOFBF, sizeof out);
  const long threads = count > 1 ? strtol(words[1], NULL, 10) : 1;
  if (threads > kMostThreads) return 1;
  int spawners = 0;
  for (int i = 2; i < count; ++i) {
    if (strcmp(words[i], "free") == 0) atomic_store(&rounds_wanted, 1L << 60);
    if (strcmp(words[i], "spawn") == 0) spawners = 2;
  }
  for (long i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)i) != 0) return 1;
  }
  for (; spawners > 0; --spawners) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, start_threads, NULL) != 0) return 1;
  }
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strncmp(line, "run ", 4) == 0) atomic_fetch_add(&rounds_wanted, strtol(line + 4, NULL, 10));
    if (strncmp(line, "fork", 4) == 0) fork_one();
    if (strncmp(line, "leak ", 5) == 0) leak(strtol(line + 5, NULL, 10));
    report();
  }
  _Exit(0);
}
