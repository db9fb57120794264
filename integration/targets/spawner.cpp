// Threads come and go for ever, joined pairs and detached ones, so that an attach always races with
// a clone and an exit. Each thread records that it ran to its end.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "talk.h"

namespace {

std::atomic<bool> stopping{false};
std::atomic<long> made{0};
std::atomic<long> ended{0};
std::atomic<long> failed{0};

void live_briefly(int microseconds) {
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  ended.fetch_add(1);
}

void spawn_for_ever(int microseconds) {
  while (!stopping.load()) {
    try {
      std::thread first(live_briefly, microseconds);
      made.fetch_add(1);
      std::thread second(live_briefly, microseconds / 2);
      made.fetch_add(1);
      second.detach();
      first.join();
    } catch (const std::system_error&) {
      failed.fetch_add(1);
    }
  }
}

}  // namespace

int main() {
  std::vector<std::thread> spawners;
  for (const int microseconds : {0, 50, 300, 1000}) {
    spawners.emplace_back(spawn_for_ever, microseconds);
  }
  while (made.load() < 20) std::this_thread::yield();
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) {
    if (is(line, "stop")) {
      stopping.store(true);
      for (std::thread& spawner : spawners) spawner.join();
      for (int tries = 0; tries < 2000 && ended.load() < made.load(); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    say("made=%ld ended=%ld failed=%ld", made.load(), ended.load(), failed.load());
  }
}
