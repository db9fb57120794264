// The main thread has ended, but the others still work: the process looks like a zombie, but is
// alive.

#include <atomic>
#include <thread>

#include <pthread.h>
#include <time.h>

#include "talk.h"

namespace {

std::atomic<long> beats{0};
pthread_t leader;

void beat() {
  for (;;) {
    const timespec time{0, 500'000};
    nanosleep(&time, nullptr);
    beats.fetch_add(1);
  }
}

void* answer(void* /*unused*/) {
  pthread_join(leader, nullptr);
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) say("beats=%ld", beats.load());
  _exit(0);
}

}  // namespace

int main() {
  leader = pthread_self();
  std::thread(beat).detach();
  pthread_t answerer{};
  pthread_create(&answerer, nullptr, answer, nullptr);
  pthread_exit(nullptr);
}
