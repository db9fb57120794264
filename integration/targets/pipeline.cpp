// Work that must be done exactly once, by threads that spend their time in the calls that an attach
// interrupts. Four producers write numbered items into pipes. Four workers wait for them with
// epoll_wait without a time limit, scramble them and send them on by socket. One collector ticks
// them off. One more thread naps and checks the clock. The program counts items that were lost,
// doubled or damaged, and calls that returned early or were cut short.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "talk.h"

namespace {

constexpr int kLanes = 4;
constexpr std::uint64_t kScramble = 0x5a5a5a5a5a5a5a5a;
constexpr std::uint64_t kWindow = 1 << 20;  // items; far more than are ever in flight

int lanes[kLanes][2];
int collected_by[2];
sem_t credits;  // bounds the items in flight
std::atomic<bool> stopping{false};
std::atomic<std::uint64_t> next_item{0};
std::atomic<std::uint64_t> collected{0};
std::atomic<long> doubled{0}, bad{0}, interrupted{0}, cut_short{0}, early{0}, naps{0};
std::atomic<long> skipped{0};  // items that were missing when their place was used again
// By place in the window: how many items have come. Each pass over the window must bring one more.
// Only the collector uses this until it has ended.
std::vector<std::uint64_t> seen(kWindow);

void count_result(ssize_t result) {
  if (result < 0 && errno == EINTR) {
    interrupted.fetch_add(1);
  } else if (result != sizeof(std::uint64_t)) {
    cut_short.fetch_add(1);
  }
}

void produce(int lane) {
  for (;;) {
    if (sem_wait(&credits) != 0) {
      interrupted.fetch_add(1);
      continue;
    }
    if (stopping.load()) return;
    const std::uint64_t item = next_item.fetch_add(1);
    count_result(write(lanes[lane][1], &item, sizeof item));
  }
}

void work(int lane) {
  const int events = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(events, EPOLL_CTL_ADD, lanes[lane][0], &event);
  for (;;) {
    const int ready = epoll_wait(events, &event, 1, -1);
    if (ready != 1) {
      (ready < 0 && errno == EINTR ? interrupted : cut_short).fetch_add(1);
      continue;
    }
    std::uint64_t item = 0;
    const ssize_t got = read(lanes[lane][0], &item, sizeof item);
    count_result(got);
    if (got != sizeof item) continue;
    item ^= kScramble;
    count_result(send(collected_by[0], &item, sizeof item, 0));
  }
}

void collect() {
  for (;;) {
    pollfd ready{collected_by[1], POLLIN, 0};
    const int count = poll(&ready, 1, 200);
    if (count < 0) interrupted.fetch_add(1);
    if (count <= 0) continue;
    std::uint64_t item = 0;
    count_result(recv(collected_by[1], &item, sizeof item, 0));
    item ^= kScramble;
    if (item >= next_item.load()) {
      bad.fetch_add(1);
    } else {
      const std::uint64_t pass = item / kWindow + 1;
      std::uint64_t& arrived = seen[item % kWindow];
      if (arrived >= pass) doubled.fetch_add(1);
      if (arrived + 1 < pass) skipped.fetch_add(static_cast<long>(pass - arrived - 1));
      arrived = pass;
    }
    collected.fetch_add(1);
    sem_post(&credits);
  }
}

void nap() {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    const timespec time{0, 2'000'000};
    const auto start = Clock::now();
    if (nanosleep(&time, nullptr) != 0) interrupted.fetch_add(1);
    if (Clock::now() - start < std::chrono::milliseconds(2)) early.fetch_add(1);
    naps.fetch_add(1);
  }
}

// Stops the producers, and waits for the items in flight.
void drain() {
  stopping.store(true);
  for (int i = 0; i < kLanes; ++i) sem_post(&credits);
  for (int tries = 0; tries < 5000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (tries > 50 && collected.load() == next_item.load()) break;
  }
}

}  // namespace

int main() {
  for (auto& lane : lanes) {
    if (pipe(lane) != 0) return 1;
  }
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, collected_by) != 0) return 1;
  sem_init(&credits, 0, 64);
  for (int lane = 0; lane < kLanes; ++lane) std::thread(work, lane).detach();
  std::thread(collect).detach();
  std::thread(nap).detach();
  for (int lane = 0; lane < kLanes; ++lane) std::thread(produce, lane).detach();
  while (collected.load() < 1000) std::this_thread::yield();
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) {
    long lost = -1;
    if (is(line, "stop")) {
      drain();
      lost = skipped.load();
      const std::uint64_t end = next_item.load();
      for (std::uint64_t item = end > kWindow ? end - kWindow : 0; item < end; ++item) {
        lost += seen[item % kWindow] < item / kWindow + 1 ? 1 : 0;
      }
    }
    say("produced=%llu collected=%llu lost=%ld doubled=%ld bad=%ld interrupted=%ld cut_short=%ld "
        "early=%ld naps=%ld",
        static_cast<unsigned long long>(next_item.load()),
        static_cast<unsigned long long>(collected.load()), lost, doubled.load(), bad.load(),
        interrupted.load() + interrupted_talk, cut_short.load(), early.load(), naps.load());
  }
  std::_Exit(0);
}
