// Eight threads allocate and free without a pause, in their own arenas and in each other's. All
// allocations are in a table, except for those that a thread is just moving. Before that, the
// program forgets 100 allocations. Prints
//     ready leaked=N leaked_bytes=N
// and works until the end of its standard input.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <malloc.h>
#include <unistd.h>

namespace {

constexpr unsigned kThreads = 8;
constexpr unsigned kSlots = 200;
std::atomic<void*> slots[kThreads][kSlots];
std::atomic<unsigned> started = 0;
std::atomic<bool> is_over = false;

class Numbers {
 public:
  explicit Numbers(unsigned seed) : state_(seed * 2654435761U + 1) {}
  unsigned below(unsigned limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_ % limit;
  }

 private:
  unsigned state_;
};

void* allocate(Numbers& numbers) {
  const std::size_t small = 8 + numbers.below(1200);
  switch (numbers.below(64)) {
    case 0: return std::malloc(150'000 + numbers.below(100'000));
    case 1: return aligned_alloc(256, 1024);
    case 2: return std::calloc(4, small);
    case 3: return std::malloc(2000 + numbers.below(60'000));
    default: return std::malloc(small);
  }
}

void work(unsigned number) {
  Numbers numbers(number + 1);
  started += 1;
  while (!is_over) {
    // Mostly uses its own table, and sometimes another thread's, which needs another arena's lock.
    const unsigned of = numbers.below(8) == 0 ? numbers.below(kThreads) : number;
    std::atomic<void*>& slot = slots[of][numbers.below(kSlots)];
    void* taken = slot.exchange(nullptr);
    if (taken != nullptr && numbers.below(4) == 0) {
      taken = std::realloc(taken, 8 + numbers.below(3000));
    } else {
      std::free(taken);
      taken = allocate(numbers);
    }
    std::free(slot.exchange(taken));
  }
}

[[gnu::noinline]] void forget(unsigned long& count, unsigned long& bytes) {
  for (int i = 0; i < 100; ++i) {
    void* const one = std::malloc(40);
    std::memset(one, 0, 40);
    count += 1;
    bytes += malloc_usable_size(one);
    asm volatile("" : : "r"(one) : "memory");
  }
}

[[gnu::noinline]] void wipe_stack() {
  volatile char used[32768];
  for (volatile char& one : used) one = 0;
}

}  // namespace

int main() {
  static char out[4096];
  std::setvbuf(stdout, out, _IOFBF, sizeof out);
  unsigned long leaked = 0;
  unsigned long leaked_bytes = 0;
  forget(leaked, leaked_bytes);
  wipe_stack();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  while (started < kThreads) usleep(1000);
  std::printf("ready leaked=%lu leaked_bytes=%lu\n", leaked, leaked_bytes);
  std::fflush(stdout);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}
