// Threads whose stacks are not in a copy of the process, as in real-time programs and some
// databases. With "all", this is also true of the first thread.

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "talk.h"

namespace {

void keep_out_of_copies(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream text(line);
    text >> std::hex >> start >> dash >> end;
    if (address < start || address >= end) continue;
    madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTFORK);
  }
}

void wait_for_ever() {
  int here = 0;
  keep_out_of_copies(reinterpret_cast<std::uintptr_t>(&here));
  keep_out_of_copies(static_cast<std::uintptr_t>(pthread_self()));
  for (;;) pause();
}

}  // namespace

int main(int count, char** words) {
  std::thread(wait_for_ever).detach();
  std::thread(wait_for_ever).detach();
  usleep(50'000);
  if (count > 1 && is(words[1], "all")) {
    keep_out_of_copies(static_cast<std::uintptr_t>(pthread_self()));
  }
  say("ready");
  char line[64];
  while (next_question(line, sizeof line)) say("interrupted=%d", interrupted_talk);
}
