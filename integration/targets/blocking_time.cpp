#include <cerrno>
#include <cstdint>

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blocking_calls.h"

namespace {

long sleep_relative() {
  const timespec time = in_due_time();
  return syscall(SYS_nanosleep, &time, nullptr);
}

long sleep_relative_realtime() {
  const timespec time = in_due_time();
  return syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &time, nullptr);
}

long sleep_until() {
  const timespec time = at_due_time(CLOCK_MONOTONIC);
  return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

long futex(std::int32_t* word, int operation, std::int32_t value, const timespec* time) {
  return syscall(SYS_futex, word, operation, value, time, nullptr, ~0U);
}

long futex_for_ever() {
  static std::int32_t word = 0;
  return futex(&word, FUTEX_WAIT_PRIVATE, 0, nullptr);
}

long futex_for() {
  static std::int32_t word = 0;
  const timespec time = in_due_time();
  return futex(&word, FUTEX_WAIT_PRIVATE, 0, &time);
}

long futex_until() {
  static std::int32_t word = 0;
  const timespec time = at_due_time(CLOCK_MONOTONIC);
  return futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &time);
}

// Waits for a futex that the main thread owns and never releases.
long futex_priority_until() {
  static std::int32_t word = 0;
  word = getpid();
  const timespec time = at_due_time(CLOCK_REALTIME);
  return futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, &time);
}

long futex_vector_until() {
  static std::uint32_t word = 0;
  struct Waiter {
    std::uint64_t value, address;
    std::uint32_t flags, reserved;
  };
  constexpr std::uint32_t kSize32Private = 2 | 128;
  constexpr long kFutexWaitv = 449;
  Waiter waiter{0, reinterpret_cast<std::uintptr_t>(&word), kSize32Private, 0};
  const timespec time = at_due_time(CLOCK_MONOTONIC);
  return syscall(kFutexWaitv, &waiter, 1, 0, &time, CLOCK_MONOTONIC);
}

long semaphore_for_ever() {
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  return sem_wait(&semaphore);
}

long semaphore_until() {
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const timespec time = at_due_time(CLOCK_REALTIME);
  return sem_timedwait(&semaphore, &time);
}

long condition_until() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec time = at_due_time(CLOCK_REALTIME);
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_timedwait(&condition, &mutex, &time);
  pthread_mutex_unlock(&mutex);
  errno = result;
  return result != 0 ? -1 : 0;
}

// Is not blocked at all, and so shows the effect of only being stopped.
long compute_until() {
  const timespec end = at_due_time(CLOCK_MONOTONIC);
  for (;;) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec)) {
      return 0;
    }
  }
}

}  // namespace

std::vector<BlockingCall> calls_of_time() {
  return {
      {"nanosleep", kDueSeconds, sleep_relative},
      {"clock_nanosleep-relative", kDueSeconds, sleep_relative_realtime},
      {"clock_nanosleep-absolute", kDueSeconds, sleep_until},
      {"futex-wait", 0, futex_for_ever},
      {"futex-wait-timed", kDueSeconds, futex_for},
      {"futex-wait-bitset-timed", kDueSeconds, futex_until},
      {"futex-lock-pi-timed", kDueSeconds, futex_priority_until},
      {"futex_waitv-timed", kDueSeconds, futex_vector_until},
      {"sem_wait", 0, semaphore_for_ever},
      {"sem_timedwait", kDueSeconds, semaphore_until},
      {"pthread_cond_timedwait", kDueSeconds, condition_until},
      {"computing", kDueSeconds, compute_until},
  };
}
