// Has many threads, and ends in the way HOW, US microseconds after "go" ("ending HOW US
// [SLEEPERS]"): "exit" (exit_group while all other threads run), "exec" (executes itself, and then
// keeps running), "leader" (the main thread ends, the others keep running), "wait" (runs until it
// is killed), "threads" (each thread ends by itself, and the last one ends the process).

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include <pthread.h>
#include <time.h>

#include "talk.h"

namespace {

std::atomic<bool> go{false};
long microseconds = 0;
std::atomic<long> beats{0};

void wait_for_go_and_time() {
  while (!go.load()) usleep(20);
  const timespec time{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  nanosleep(&time, nullptr);
}

void* beat(void* /*unused*/) {
  for (;;) {
    if (beats.fetch_add(1) % 64 == 0) usleep(100);
  }
}

void* end_with_go(void* /*unused*/) {
  wait_for_go_and_time();
  usleep(static_cast<unsigned>(std::rand() % 300));
  return nullptr;
}

void* answer(void* /*unused*/) {
  char line[64];
  while (next_question(line, sizeof line)) {
    if (is(line, "go")) {
      go.store(true);
    } else {
      say("beats=%ld", beats.load());
    }
  }
  _exit(0);
}

void start(void* (*work)(void*), int count) {
  for (int i = 0; i < count; ++i) {
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, work, nullptr) == 0) pthread_detach(thread);
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string how = count > 1 ? words[1] : "wait";
  microseconds = count > 2 ? std::strtol(words[2], nullptr, 10) : 0;
  if (how == "threads") {
    start(end_with_go, 8);
    say("ready");
    char line[64];
    if (!next_question(line, sizeof line)) return 1;
    go.store(true);
    pthread_exit(nullptr);
  }
  start(answer, 1);
  start(beat, 3);
  start([](void*) -> void* { return pause(), nullptr; }, count > 3 ? std::atoi(words[3]) : 4);
  say("ready");
  if (how == "wait") pause();
  wait_for_go_and_time();
  if (how == "exit") _exit(7);
  if (how == "exec") execl("/proc/self/exe", words[0], "wait", static_cast<char*>(nullptr));
  if (how == "leader") pthread_exit(nullptr);
  return 9;
}
