#pragma once

// One blocking system call each, as a thread of its own makes it (blockers.cpp).

#include <vector>

#include <time.h>

struct BlockingCall {
  const char* name;
  double due_s;  // when it has to come back by itself; 0 if never
  long (*run)();
};

constexpr double kDueSeconds = 1.5;

inline timespec in_due_time() {
  return {1, 500'000'000};
}

inline timespec at_due_time(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  time.tv_sec += 1;
  time.tv_nsec += 500'000'000;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    time.tv_sec += 1;
  }
  return time;
}

std::vector<BlockingCall> calls_of_time();     // sleeps, futexes and what glibc makes of them
std::vector<BlockingCall> calls_of_polling();  // poll, select, epoll
std::vector<BlockingCall> calls_of_files();    // pipes, locks, and the many sorts of descriptors
std::vector<BlockingCall> calls_of_sockets();
std::vector<BlockingCall> calls_of_messages();  // signals, children, System V and POSIX queues
