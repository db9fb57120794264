// Rewrites its heap for ever: "rewriting MEGABYTES". After "fill", a thread writes the number of
// its pass to each page, one by one. "sigtrap HOW" changes the disposition of SIGTRAP.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <sys/mman.h>

#include "talk.h"

namespace {

constexpr std::size_t kPage = 4096;

std::atomic<long> passes{0};
std::atomic<long> torn{0};  // pages with another number than the one that was written
std::atomic<long> traps{0};

void rewrite(volatile std::uint64_t* heap, std::size_t pages) {
  constexpr std::size_t kWords = kPage / sizeof *heap;
  for (std::uint64_t pass = 2;; ++pass) {
    for (std::size_t page = 0; page < pages; ++page) {
      if (heap[page * kWords] != pass - 1) torn.fetch_add(1);
      heap[page * kWords] = pass;
    }
    passes.fetch_add(1);
  }
}

void count_trap(int) {
  traps.fetch_add(1);
}

void treat_sigtrap(const char* how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTRAP);
  std::signal(SIGTRAP, is(how, "ignore") ? SIG_IGN : is(how, "handle") ? count_trap : SIG_DFL);
  sigprocmask(is(how, "block") ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

int main(int count, char** words) {
  const std::size_t pages = std::strtoul(count > 1 ? words[1] : "1", nullptr, 10) * 256;
  say("ready");
  std::uint64_t* heap = nullptr;
  char line[64];
  while (next_question(line, sizeof line)) {
    if (is(line, "fill") && heap == nullptr) {
      void* made =
          mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (made == MAP_FAILED) return 1;
      madvise(made, pages * kPage, MADV_NOHUGEPAGE);
      heap = static_cast<std::uint64_t*>(made);
      for (std::size_t page = 0; page < pages; ++page) heap[page * kPage / sizeof *heap] = 1;
      std::thread(rewrite, heap, pages).detach();
    }
    if (std::strncmp(line, "sigtrap ", 8) == 0) treat_sigtrap(line + 8);
    say("base=%lld pages=%zu passes=%ld torn=%ld traps=%ld",
        static_cast<long long>(reinterpret_cast<std::uintptr_t>(heap)), pages, passes.load(),
        torn.load(), traps.load());
  }
  std::_Exit(0);
}
