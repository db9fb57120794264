// leaky OBJECTS: makes that many small objects with malloc, in lists, and forgets every hundredth
// list. Linked with LeakSanitizer (-fsanitize=leak -DWITH_LSAN), it prints how many milliseconds
// LeakSanitizer takes to find the leaks. Otherwise it prints "ready leaked=N" and waits for the end
// of its standard input.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#ifdef WITH_LSAN
#include <sanitizer/lsan_interface.h>
#endif

namespace {

struct Node {
  Node* next = nullptr;
  long number = 0;
};
constexpr long kLists = 1000;
Node* lists[kLists];

[[gnu::noinline]] void wipe_stack() {
  volatile char used[32768];
  for (volatile char& one : used) one = 0;
}

[[gnu::noinline]] long build(long objects) {
  long leaked = 0;
  for (long i = 0; i < objects; ++i) lists[i % kLists] = new Node{lists[i % kLists], i};
  for (long i = 0; i < kLists; i += 100) {
    for (const Node* node = lists[i]; node != nullptr; node = node->next) ++leaked;
    lists[i] = nullptr;
  }
  return leaked;
}

}  // namespace

int main(int argc, char** argv) {
  const long leaked = build(argc > 1 ? std::atol(argv[1]) : 1'000'000);
  wipe_stack();
#ifdef WITH_LSAN
  const auto begin = std::chrono::steady_clock::now();
  __lsan_do_recoverable_leak_check();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  std::printf("leaked=%ld ms=%.1f\n", leaked, taken.count());
  std::fflush(stdout);
  _exit(0);
#else
  std::printf("ready leaked=%ld\n", leaked);
  std::fflush(stdout);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
#endif
}
