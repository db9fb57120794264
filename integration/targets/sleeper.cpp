// Threads are blocked in restartable calls, and count each unexpected return. With an argument N,
// there are N threads; otherwise one of each kind.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

#include "talk.h"

namespace {

std::atomic<long> interrupted{0};  // returns of untimed calls
std::atomic<long> early{0};        // sleeps that ended before their time
std::atomic<long> naps{0};
std::atomic<long> blocked{0};

void count_if_interrupted(long result) {
  if (result < 0 && errno == EINTR) interrupted.fetch_add(1);
}

void* wait_for_events(void* /*unused*/) {
  const int events = epoll_create1(0);
  epoll_event event{};
  blocked.fetch_add(1);
  for (;;) count_if_interrupted(epoll_wait(events, &event, 1, -1));
}

void* wait_for_bytes(void* /*unused*/) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  char byte = 0;
  blocked.fetch_add(1);
  for (;;) count_if_interrupted(read(ends[0], &byte, 1));
}

void* wait_for_word(void* /*unused*/) {
  static std::int32_t word = 0;
  blocked.fetch_add(1);
  for (;;) {
    count_if_interrupted(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0));
  }
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void* nap(void* /*unused*/) {
  blocked.fetch_add(1);
  for (;;) {
    const timespec time{0, 5'000'000};
    const double start = now();
    if (nanosleep(&time, nullptr) != 0 || now() - start < 0.005) early.fetch_add(1);
    naps.fetch_add(1);
  }
}

void start(void* (*work)(void*)) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, std::size_t{64} * 1024);
  pthread_t thread{};
  if (pthread_create(&thread, &small, work, nullptr) != 0) {
    std::perror("pthread_create");
    std::exit(1);
  }
  pthread_attr_destroy(&small);
}

}  // namespace

int main(int count, char** words) {
  const long wanted = count > 1 ? std::strtol(words[1], nullptr, 10) : 4;
  for (long i = 0; i < wanted; ++i) {
    void* (*const sorts[])(void*) = {nap, wait_for_events, wait_for_bytes, wait_for_word};
    start(i < 4 ? sorts[i] : wait_for_word);
  }
  while (blocked.load() < wanted) std::this_thread::yield();
  say("ready threads=%ld", wanted + 1);
  char line[64];
  while (next_question(line, sizeof line)) {
    say("naps=%ld early=%ld interrupted=%ld", naps.load(), early.load(),
        interrupted.load() + interrupted_talk);
  }
}
