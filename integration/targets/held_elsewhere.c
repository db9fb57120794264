// Leaves the only pointers to some allocations to the kernel, to shared memory, to code that was
// made at run time, and to a page without access rights. Each allocation references another one,
// and each kind has its own size. Prints the number of those that nothing references,
//     ready leaked=7 leaked_bytes=N secret=0
// and waits for the end of its standard input. Arguments add to that: "uring" an instance of
// io_uring, "aio" a context of io_setup(2), "large" more shared memory than is searched, "secret"
// memory of memfd_secret(2), if the kernel makes any (then it prints secret=1), and "twins" a memfd
// that is not mapped and a mapped file of /dev/shm with the same inode number. With "absent" first,
// its page tables do not have the shared memory, as if it had been paged out.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kLeaked = 7, kLeakedBytes = 72, kLarge = 80 << 20, kRingBytes = 512 };

static void check(int is_good, const char* what) {
  if (is_good) return;
  perror(what);
  exit(1);
}

// A new allocation, which references another one.
static void* block(size_t bytes) {
  void** const one = calloc(1, bytes);
  one[1] = calloc(1, bytes);
  return one;
}

__attribute__((noinline)) static void leave_to_kernel(void) {
  const int watches = epoll_create1(0);
  const int counter = eventfd(0, 0);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = block(1000)};
  check(epoll_ctl(watches, EPOLL_CTL_ADD, counter, &event) == 0, "epoll_ctl");
  const unsigned long count = (unsigned long)block(1100);
  check(write(counter, &count, sizeof count) == sizeof count, "write to eventfd");
  struct sigevent signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  signal.sigev_value.sival_ptr = block(1200);
  timer_t timer;
  check(timer_create(CLOCK_MONOTONIC, &signal, &timer) == 0, "timer_create");
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  struct __attribute__((packed)) {
    char tag;
    void* at;
  } message = {'x', block(1300)};
  check(write(ends[1], &message, sizeof message) == sizeof message, "write to pipe");
  const int file = memfd_create("kept", 0);
  void* const in_file = block(1400);
  check(pwrite(file, &in_file, sizeof in_file, 3 * kPage) == sizeof in_file, "write to memfd");
  const int half = memfd_create("half", 0);
  void* const in_half = block(1500);
  check(pwrite(half, &in_half, sizeof in_half, kPage) == sizeof in_half, "write to memfd");
  for (int i = 0; i < 2; ++i) {
    volatile char* const first = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, half, 0);
    check(first != MAP_FAILED, "mmap");
    first[0] = 1;
  }
}

static int is_absent;
static int has_secret;

static void put(void* page, void* at) {
  check(page != MAP_FAILED, "mmap");
  ((void**)page)[5] = at;
}

// Puts a pointer into a shared page. With "absent", it drops the page from the page tables; the
// kernel keeps its contents.
static void put_shared(void* page, void* at) {
  put(page, at);
  if (is_absent) check(madvise(page, kPage, MADV_DONTNEED) == 0, "madvise");
}

static void* map_file(int file, off_t bytes) {
  check(file >= 0 && ftruncate(file, bytes) == 0, "ftruncate");
  void* const page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(close(file) == 0, "close");
  return page;
}

__attribute__((noinline)) static void share(void) {
  put_shared(mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
             block(2000));
  put_shared(map_file(memfd_create("shared", 0), kPage), block(2100));
  char name[64];
  snprintf(name, sizeof name, "/heapattach-%d", (int)getpid());
  put_shared(map_file(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), kPage), block(2200));
  shm_unlink(name);
  const int segment = shmget(IPC_PRIVATE, kPage, 0600);
  void* const attached = shmat(segment, NULL, 0);
  shmctl(segment, IPC_RMID, NULL);
  put_shared(attached, block(2300));
  char path[] = "/tmp/heapattach-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  put(map_file(file, kPage), block(2400));
}

static ino_t number_of(int file) {
  struct stat status;
  check(file >= 0 && fstat(file, &status) == 0, "fstat");
  return status.st_ino;
}

static int memory_file(void) {
  return memfd_create("twin", 0);
}

static int shared_file(void) {
  return open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
}

// Both file systems count upwards, one of them for each processor, so the one that is behind makes
// files until it has caught up.
__attribute__((noinline)) static void share_twins(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  check(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
  int files[2] = {memory_file(), shared_file()};
  while (number_of(files[0]) != number_of(files[1])) {
    const int behind = number_of(files[0]) < number_of(files[1]) ? 0 : 1;
    close(files[behind]);
    files[behind] = behind == 0 ? memory_file() : shared_file();
  }
  void* const in_file = block(4000);
  check(pwrite(files[0], &in_file, sizeof in_file, 0) == sizeof in_file, "write to memfd");
  put(map_file(files[1], kPage), block(4100));
}

// mov $address, %rax; ret
__attribute__((noinline)) static void make_code(void) {
  unsigned char* const page =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(page != MAP_FAILED, "mmap");
  void* const at = block(3000);
  page[0] = 0x48;
  page[1] = 0xb8;
  memcpy(page + 2, &at, sizeof at);
  page[10] = 0xc3;
  check(mprotect(page, kPage, PROT_READ | PROT_EXEC) == 0, "mprotect");
}

__attribute__((noinline)) static void forbid(void) {
  void* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  put(page, block(3100));
  check(mprotect(page, kPage, PROT_NONE) == 0, "mprotect");
}

__attribute__((noinline)) static void set_segment(void) {
#ifdef __x86_64__
  const int kSetGs = 0x1001;
  check(syscall(SYS_arch_prctl, kSetGs, block(3200)) == 0, "arch_prctl");
#endif
}

__attribute__((noinline)) static void leak(void) {
  for (int i = 0; i < kLeaked; ++i) {
    volatile char* const forgotten = malloc(kLeakedBytes);
    forgotten[0] = 1;
  }
}

// Overwrites what earlier calls left on the stack.
__attribute__((noinline)) static void wipe(void) {
  volatile char unused[32768];
  memset((char*)unused, 0, sizeof unused);
}

int main(int count, char** words) {
  is_absent = count > 1 && strcmp(words[1], "absent") == 0;
  leave_to_kernel();
  share();
  make_code();
  forbid();
  set_segment();
  leak();
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "uring") == 0) {
      char parameters[kRingBytes] = {0};
      check(syscall(SYS_io_uring_setup, 4, parameters) >= 0, "io_uring_setup");
    } else if (strcmp(words[i], "aio") == 0) {
      unsigned long context = 0;
      check(syscall(SYS_io_setup, 4, &context) >= 0, "io_setup");
    } else if (strcmp(words[i], "secret") == 0) {
      const int file = (int)syscall(SYS_memfd_secret, 0);
      if (file >= 0) put(map_file(file, kPage), block(4200));
      has_secret = file >= 0;
    } else if (strcmp(words[i], "twins") == 0) {
      share_twins();
    } else if (strcmp(words[i], "large") == 0) {
      memset(map_file(memfd_create("large", 0), kLarge), 1, kLarge);
    }
  }
  void* const like = malloc(kLeakedBytes);
  const size_t bytes = malloc_usable_size(like);
  free(like);
  wipe();
  printf("ready leaked=%d leaked_bytes=%zu secret=%d\n", kLeaked, kLeaked * bytes, has_secret);
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
