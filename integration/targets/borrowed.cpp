// Threads in different states, any of which may be borrowed. Each knows what must be unchanged
// afterwards: general and vector registers, flags, the red zone of x86-64, errno, and the result of
// its call. The greeting has the threads' numbers.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "talk.h"

// long keeps_pattern(long turns): fills the registers, the red zone and the carry flag, counts
// `turns` down, and returns 0 if everything is unchanged.
#ifdef __x86_64__
asm(R"(
  .text
  .globl keeps_pattern
  .type keeps_pattern, @function
keeps_pattern:
  .cfi_startproc
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  .cfi_def_cfa_offset 56
  .cfi_offset %rbx, -16  # so that the callers, which may need it, can be found
  .cfi_offset %rbp, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  mov %rdi, %rax
  mov $0x0101010101010101, %rbx
  mov $0x0202020202020202, %rcx
  mov $0x0303030303030303, %rdx
  mov $0x0404040404040404, %rsi
  mov $0x0505050505050505, %rdi
  mov $0x0606060606060606, %rbp
  mov $0x0808080808080808, %r8
  mov $0x0909090909090909, %r9
  mov $0x1010101010101010, %r10
  mov $0x1111111111111111, %r11
  mov $0x1212121212121212, %r12
  mov $0x1313131313131313, %r13
  mov $0x1414141414141414, %r14
  mov $0x1515151515151515, %r15
  .irp place, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
  mov %r15, -8*\place(%rsp)
  .endr
  .irp vector, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movq %r14, %xmm\vector
  .endr
  stc
1:
  dec %rax
  jnz 1b
  jnc 9f
  .macro expect name, value
  mov $\value, %rax
  cmp %rax, %\name
  jne 9f
  .endm
  expect rbx, 0x0101010101010101
  expect rcx, 0x0202020202020202
  expect rdx, 0x0303030303030303
  expect rsi, 0x0404040404040404
  expect rdi, 0x0505050505050505
  expect rbp, 0x0606060606060606
  expect r8, 0x0808080808080808
  expect r9, 0x0909090909090909
  expect r10, 0x1010101010101010
  expect r11, 0x1111111111111111
  expect r12, 0x1212121212121212
  expect r13, 0x1313131313131313
  expect r14, 0x1414141414141414
  expect r15, 0x1515151515151515
  .irp place, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
  cmp %r15, -8*\place(%rsp)
  jne 9f
  .endr
  .irp vector, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movq %xmm\vector, %rax
  cmp %rax, %r14
  jne 9f
  .endr
  xor %eax, %eax
  jmp 8f
9:
  mov $1, %eax
8:
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .cfi_endproc
  .size keeps_pattern, . - keeps_pattern
)");
#else
asm(R"(
  .text
  .globl keeps_pattern
  .type keeps_pattern, %function
keeps_pattern:
  .cfi_startproc
  stp x29, x30, [sp, #-160]!
  .cfi_def_cfa_offset 160
  .cfi_offset x29, -160  // so that the callers, which may need them, can be found
  .cfi_offset x30, -152
  .macro save first, second, at
  stp x\first, x\second, [sp, #\at]
  .cfi_offset x\first, \at - 160
  .cfi_offset x\second, \at - 152
  .endm
  save 19, 20, 16
  save 21, 22, 32
  save 23, 24, 48
  save 25, 26, 64
  save 27, 28, 80
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  .macro put number, to
  mov x\to, #0x101 * \number
  orr x\to, x\to, x\to, lsl #32
  .endm
  .irp number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
  put \number, \number
  .endr
  .irp number, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
  put \number, \number
  .endr
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  dup v\number\().2d, x14
  .endr
  .irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  dup v\number\().2d, x15
  .endr
  cmp x14, x14
1:
  sub x0, x0, #1
  cbnz x0, 1b
  b.cc 9f
  b.ne 9f
  .macro expect number
  put \number, 0
  cmp x0, x\number
  b.ne 9f
  .endm
  .irp number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
  expect \number
  .endr
  .irp number, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
  expect \number
  .endr
  .macro expect_vector number, value
  mov x0, v\number\().d[0]
  cmp x0, \value
  b.ne 9f
  mov x0, v\number\().d[1]
  cmp x0, \value
  b.ne 9f
  .endm
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  expect_vector \number, x14
  .endr
  .irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  expect_vector \number, x15
  .endr
  mov x0, #0
  b 8f
9:
  mov x0, #1
8:
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp x29, x30, [sp], #160
  ret
  .cfi_endproc
  .size keeps_pattern, . - keeps_pattern
)");
#endif
extern "C" long keeps_pattern(long turns);

namespace {

constexpr int kSentinel = 77;  // an errno that no code here sets

std::atomic<long> damaged{0};  // patterns that have changed
std::atomic<long> errno_lost{0};
std::atomic<long> interrupted{0};  // untimed calls that returned
std::atomic<long> early{0};        // sleeps that ended too soon
std::atomic<long> children_seen{0};
std::atomic<long> beats{0};
std::atomic<long> naps{0};
std::atomic<long> handled{0};
std::atomic<long> numbers[6];
enum { kComputing, kNapping, kEvents, kCondition, kHandler, kWaiting };

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

// Functions for tests to call in this process or in a copy of it, on any of its threads. Each
// changes something that a function may change: vector registers, errno, the mask.
extern "C" {

long disturb(long first, long second, const char* text) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  errno = EBADF;
#ifdef __x86_64__
  asm volatile(R"(
  pcmpeqb %%xmm0, %%xmm0
  .irp vector, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movdqa %%xmm0, %%xmm\vector
  .endr
)" ::
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#else
  asm volatile(R"(
  .irp vector, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movi v\vector\().16b, #0xff
  .endr
)" ::
                   : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
                     "v12", "v13", "v14", "v15");
#endif
  return first + 10 * second + 100 * static_cast<long>(std::strlen(text));
}

const char* say_where() {
  static char text[32];
  std::snprintf(text, sizeof text, "thread %ld", syscall(SYS_gettid));
  return text;
}

// The number of beats of another thread during this call.
long beats_within(long milliseconds) {
  const long before = beats.load();
  const double end = now() + static_cast<double>(milliseconds) / 1e3;
  while (now() < end) continue;
  return beats.load() - before;
}

long sleep_well(long milliseconds) {
  errno = EBADF;
  return usleep(static_cast<useconds_t>(milliseconds) * 1000);
}

long crash(long value) {
  errno = EBADF;
  return *reinterpret_cast<volatile long*>(value);
}

long leave(int status) {
  std::exit(status);
}

long give_up() {
  std::abort();
}

}  // extern "C"

namespace {

void begin(int which) {
  numbers[which].store(syscall(SYS_gettid));
}

void compute() {
  begin(kComputing);
  errno = kSentinel;
  for (;;) {
    if (keeps_pattern(20'000) != 0) damaged.fetch_add(1);
    if (errno != kSentinel) errno_lost.fetch_add(1);
    beats.fetch_add(1);
  }
}

void nap() {
  begin(kNapping);
  for (;;) {
    const double start = now();
    timespec moment{0, 5'000'000};
    if (nanosleep(&moment, nullptr) != 0 || now() - start < 0.005) early.fetch_add(1);
    naps.fetch_add(1);
  }
}

void wait_for_events() {
  const int events = epoll_create1(0);
  begin(kEvents);
  epoll_event event{};
  for (;;) {
    epoll_wait(events, &event, 1, -1);
    interrupted.fetch_add(1);
  }
}

void wait_for_condition() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  begin(kCondition);
  for (;;) pthread_cond_wait(&condition, &mutex);
}

// Never returns: computes on top of whatever the signal interrupted.
void stay(int) {
  begin(kHandler);
  for (;;) {
    if (keeps_pattern(20'000) != 0) damaged.fetch_add(1);
    handled.fetch_add(1);
    timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
}

void wait_in_handler() {
  struct sigaction action {};
  action.sa_handler = stay;
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

void count_child(int) {
  children_seen.fetch_add(1);
}

// Waits for a child that does not end: any return comes from outside.
void wait_for_children() {
  begin(kWaiting);
  for (;;) {
    if (waitpid(-1, nullptr, 0) != -1 || errno != EINTR) children_seen.fetch_add(1);
    interrupted.fetch_add(1);
  }
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_handler = count_child;
  sigaction(SIGCHLD, &action, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  std::thread(compute).detach();
  std::thread(nap).detach();
  std::thread(wait_for_events).detach();
  std::thread(wait_for_condition).detach();
  std::thread(wait_in_handler).detach();
  std::thread(wait_for_children).detach();
  for (const auto& number : numbers) {
    while (number.load() == 0) std::this_thread::yield();
  }
  say("ready main=%d computing=%ld napping=%ld events=%ld condition=%ld handler=%ld waiting=%ld",
      getpid(), numbers[kComputing].load(), numbers[kNapping].load(), numbers[kEvents].load(),
      numbers[kCondition].load(), numbers[kHandler].load(), numbers[kWaiting].load());
  char line[64];
  while (next_question(line, sizeof line)) {
    say("damaged=%ld errno_lost=%ld interrupted=%ld early=%ld children=%ld beats=%ld naps=%ld "
        "handled=%ld talk=%d",
        damaged.load(), errno_lost.load(), interrupted.load(), early.load(), children_seen.load(),
        beats.load(), naps.load(), handled.load(), interrupted_talk);
  }
  kill(child, SIGKILL);
  std::_Exit(0);
}
