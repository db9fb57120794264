#pragma once

// Blocking system calls, each of which is made by a thread of its own (blockers.cpp).

#include <vector>

#include <time.h>

struct BlockingCall {
  const char* name;
  double due_s;  // the time after which the call returns by itself; 0: never
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

std::vector<BlockingCall>
calls_of_time();  // sleeps, futexes and the glibc functions on top of them
std::vector<BlockingCall> calls_of_polling();  // poll, select, epoll
std::vector<BlockingCall> calls_of_files();    // pipes, locks, and the many kinds of descriptors
std::vector<BlockingCall> calls_of_sockets();
std::vector<BlockingCall> calls_of_messages();  // signals, children, System V and POSIX queues
