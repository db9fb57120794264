// Uses io_uring all the time: one thread submits requests and waits for them. Other requests never
// end, so that the kernel has threads for them; if permitted, another kernel thread polls for
// requests. Answers "done=N wrong=N", where `done` counts requests and `wrong` those with a wrong
// result. Prints "ready ring=0" if there is no io_uring. With a collector, each request is an
// object in its heap.

#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef WITH_COLLECTOR
#define GC_THREADS
#include <gc.h>
#else
#define GC_INIT()
#define GC_MALLOC(bytes) ""
#endif

struct ring {
  int fd;
  struct io_uring_params params;
  char* rings;
  struct io_uring_sqe* entries;
};

static atomic_long done;
static atomic_long wrong;

static _Atomic unsigned* word_at(const struct ring* ring, unsigned offset) {
  return (_Atomic unsigned*)(ring->rings + offset);
}

static int open_ring(struct ring* ring, unsigned flags) {
  memset(ring, 0, sizeof *ring);
  ring->params.flags = flags;
  ring->params.sq_thread_idle = 60000;
  ring->fd = (int)syscall(SYS_io_uring_setup, 8, &ring->params);
  if (ring->fd < 0) return 0;
  const struct io_uring_params* const p = &ring->params;
  const size_t bytes = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe) +
                       p->sq_off.array + p->sq_entries * sizeof(unsigned);
  ring->rings = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
  ring->entries = mmap(NULL, p->sq_entries * sizeof *ring->entries, PROT_READ | PROT_WRITE,
                       MAP_SHARED, ring->fd, IORING_OFF_SQES);
  return ring->rings != MAP_FAILED && ring->entries != MAP_FAILED &&
         (p->features & IORING_FEAT_SINGLE_MMAP) != 0;
}

static void put(struct ring* ring, struct io_uring_sqe request) {
  _Atomic unsigned* const tail = word_at(ring, ring->params.sq_off.tail);
  const unsigned at = atomic_load(tail) & (ring->params.sq_entries - 1);
  ring->entries[at] = request;
  atomic_store(word_at(ring, ring->params.sq_off.array) + at, at);
  atomic_fetch_add(tail, 1);
}

static void submit(struct ring* ring, unsigned wait_for) {
  unsigned flags = IORING_ENTER_GETEVENTS;
  if ((ring->params.flags & IORING_SETUP_SQPOLL) != 0) flags |= IORING_ENTER_SQ_WAKEUP;
  syscall(SYS_io_uring_enter, ring->fd, 1, wait_for, flags, NULL, 0);
}

// Submits requests that end at once.
static void* work(void* argument) {
  struct ring* const ring = argument;
  _Atomic unsigned* const head = word_at(ring, ring->params.cq_off.head);
  for (uint64_t i = 1;; ++i) {
    const char* volatile request = GC_MALLOC(1000);
    put(ring, (struct io_uring_sqe){.opcode = IORING_OP_NOP, .user_data = i});
    do {
      submit(ring, 1);
    } while (atomic_load(head) == atomic_load(word_at(ring, ring->params.cq_off.tail)));
    const struct io_uring_cqe* const results = (void*)(ring->rings + ring->params.cq_off.cqes);
    const struct io_uring_cqe result = results[atomic_load(head) & (ring->params.cq_entries - 1)];
    atomic_fetch_add(head, 1);
    if (result.user_data != i || result.res != 0 || request[0] != 0) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&done, 1);
    usleep(100);
  }
  return NULL;
}

int main(void) {
  GC_INIT();
  static struct ring rings[3];
  static char bytes[8];
  char line[64];
  int ends[2];
  pthread_t thread;
  const int has_ring = open_ring(&rings[0], 0) && open_ring(&rings[1], 0);
  const int polls = has_ring && open_ring(&rings[2], IORING_SETUP_SQPOLL);
  if (has_ring && pipe(ends) == 0) {
    // Submits a read that nobody answers, which a thread of the kernel makes.
    put(&rings[1], (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                         .flags = IOSQE_ASYNC,
                                         .fd = ends[0],
                                         .addr = (uint64_t)bytes,
                                         .len = sizeof bytes});
    submit(&rings[1], 0);
    pthread_create(&thread, NULL, work, &rings[0]);
    if (polls) pthread_create(&thread, NULL, work, &rings[2]);
    while (atomic_load(&done) == 0) usleep(1000);
  }
  printf("ready ring=%d polls=%d\n", has_ring, polls);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("done=%ld wrong=%ld\n", atomic_load(&done), atomic_load(&wrong));
    fflush(stdout);
  }
  return 0;
}
