// Counts queued real-time signals by their payload: each value from 1 to "expect" must arrive
// exactly once, on any thread that the kernel chooses. One thread computes, one naps, one waits for
// ever, and one answers. On request, a child sends the signals from outside, so that the scheduling
// of the test does not matter.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#include "talk.h"

namespace {

constexpr int kMostValues = 1'000'000;

std::atomic<std::uint8_t> arrived[kMostValues + 1];
std::atomic<long> handled{0}, strange{0};
std::atomic<long> damaged{0};  // wrong sums: registers had changed
std::atomic<long> sums{0};

void on_signal(int /*number*/, siginfo_t* about, void* /*context*/) {
  const int value = about->si_value.sival_int;
  if (value < 1 || value > kMostValues) {
    strange.fetch_add(1);
  } else {
    arrived[value].fetch_add(1);
  }
  handled.fetch_add(1);
}

void compute() {
  for (;;) {
    std::uint64_t sum = 0;
    double product = 1.0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      sum += i;
      product *= i % 2 == 0 ? 2.0 : 0.5;
    }
    if (sum != 1999000 || product != 1.0) damaged.fetch_add(1);
    sums.fetch_add(1);
  }
}

void nap() {
  for (;;) {
    const timespec time{0, 1'000'000};
    nanosleep(&time, nullptr);
  }
}

void wait_for_ever() {
  const int events = epoll_create1(0);
  epoll_event event{};
  for (;;) epoll_wait(events, &event, 1, -1);
}

void send_from_child(int values) {
  const pid_t receiver = getpid();
  const pid_t sender = fork();
  if (sender != 0) return;
  for (int value = 1; value <= values; ++value) {
    sigval payload{};
    payload.sival_int = value;
    while (sigqueue(receiver, SIGRTMIN, payload) != 0) usleep(50);  // while the queue is full
    if (value % 4 == 0) usleep(20);
  }
  _exit(0);
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN, &action, nullptr);
  std::thread(compute).detach();
  std::thread(nap).detach();
  std::thread(wait_for_ever).detach();
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) {
    int wanted = 0;
    if (std::sscanf(line, "send %d", &wanted) == 1 && wanted <= kMostValues) {
      send_from_child(wanted);
    }
    long distinct = 0;
    long doubled = 0;
    for (const auto& count : arrived) {
      distinct += count.load() > 0 ? 1 : 0;
      doubled += count.load() > 1 ? 1 : 0;
    }
    const long sending = waitpid(-1, nullptr, WNOHANG) == 0 ? 1 : 0;
    say("handled=%ld distinct=%ld doubled=%ld strange=%ld damaged=%ld sums=%ld sending=%ld",
        handled.load(), distinct, doubled, strange.load(), damaged.load(), sums.load(), sending);
  }
}
