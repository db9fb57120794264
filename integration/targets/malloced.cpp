// Allocates with glibc's malloc in every possible way, and knows its allocations. It prints
//     ready in_use=N leaked=N leaked_bytes=N arena=N used=N free=N fast=N mapped=N mapped_bytes=N
// and waits for the end of its standard input. `in_use` counts allocations that were not freed. A
// wrapper around malloc counts them, so those of the C library count, too. `leaked` counts the
// forgotten ones; the other numbers come from mallinfo2(). With "blocked", the program break cannot
// grow.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "malloc_counter.h"

namespace {

struct Shape {
  virtual ~Shape() = default;
  Shape* next = nullptr;
};
struct Circle : Shape {
  double radius = 1;
};
struct Square : Shape {
  double side = 2;
  char* label = nullptr;
};

// These hold a list of shapes, and a table of texts.
Shape* first_shape = nullptr;
std::vector<std::string>* names = nullptr;
void* volatile first_of_all = nullptr;
char** table = nullptr;
constexpr int kShapes = 500;
constexpr int kTable = 300;

std::uint64_t leaked_count = 0;
std::uint64_t leaked_bytes = 0;

template <class T>
T* forgotten(T* object) {
  ++leaked_count;
  leaked_bytes += malloc_usable_size(object);
  return object;
}

// Leaves unreachable allocations behind; noinline, so that its frame is gone.
[[gnu::noinline]] void leak() {
  for (int i = 0; i < 40; ++i) {  // chains of three: only the first is the root of a leak
    auto* head = forgotten(new Circle);
    head->next = forgotten(new Square);
    static_cast<Square*>(head->next)->label = static_cast<char*>(forgotten(std::malloc(100)));
    asm volatile("" : : "r"(head) : "memory");
  }
  for (int i = 0; i < 10; ++i) {  // cycles of two
    auto* a = forgotten(new Circle);
    a->next = forgotten(new Circle);
    a->next->next = a;
    asm volatile("" : : "r"(a) : "memory");
  }
  for (int i = 0; i < 5; ++i) {
    void* large = forgotten(std::malloc(300'000));
    std::memset(large, 0, 64);
    asm volatile("" : : "r"(large) : "memory");
  }
}

// Overwrites what leak() left on the stack, and in registers.
[[gnu::noinline]] void wipe_stack() {
  volatile char used[32768];
  for (volatile char& one : used) one = 0;
}

void hold() {
  for (int i = 0; i < kShapes; ++i) {
    Shape* shape = i % 2 == 0 ? static_cast<Shape*>(new Circle) : new Square;
    shape->next = first_shape;
    first_shape = shape;
  }
  names = new std::vector<std::string>;
  for (int i = 0; i < 200; ++i)
    names->push_back("a name that is too long to be stored inside " + std::to_string(i));
  table = static_cast<char**>(std::calloc(kTable, sizeof *table));
  for (int i = 0; i < kTable; ++i) {
    table[i] = static_cast<char*>(std::malloc(static_cast<std::size_t>(i) * 37 % 5000));
  }
  for (int i = 0; i < kTable; i += 3) {  // into caches, fast bins and bins
    std::free(table[i]);
    table[i] = nullptr;
  }
}

// Threads that have pointers to allocations only on their own stacks, and do not end.
std::atomic<int> started = 0;
std::atomic<bool> is_over = false;
void work() {
  void* kept[200];
  for (std::size_t i = 0; i < 200; ++i) kept[i] = std::malloc(16 + i * 13 % 700);
  for (std::size_t i = 0; i < 200; i += 4) {
    std::free(kept[i]);
    kept[i] = nullptr;
  }
  started += 1;
  while (!is_over) usleep(1000);
  for (void* one : kept) std::free(one);
}

void* mapped[4];

void map_large() {
  mapped[0] = std::malloc(1 << 20);
  mapped[1] = aligned_alloc(4096, 400'000);
  mapped[2] = aligned_alloc(64, 500'032);
  mapped[3] = std::malloc(200'000);
  std::free(mapped[3]);
  mapped[3] = std::malloc(2 << 20);
}

void print_truth() {
  const auto now = mallinfo2();
  std::printf(
      "ready in_use=%zu leaked=%lu leaked_bytes=%lu arena=%zu used=%zu free=%zu fast=%zu "
      "mapped=%zu "
      "mapped_bytes=%zu\n",
      count_in_use(), leaked_count, leaked_bytes, now.arena, now.uordblks, now.fordblks,
      now.fsmblks, now.hblks, now.hblkhd);
}

}  // namespace

int main(int argc, char** argv) {
  static char out[4096];
  std::setvbuf(stdout, out, _IOFBF, sizeof out);  // so that printing allocates nothing
  const bool blocks_brk = argc > 1 && std::strcmp(argv[1], "blocked") == 0;
  if (blocks_brk) {  // the break cannot grow: main_arena goes on in mappings
    void* const at = sbrk(0);
    const auto page = (reinterpret_cast<std::uintptr_t>(at) + 4095) & ~std::uintptr_t{4095};
    mmap(reinterpret_cast<void*>(page), 4096, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    first_of_all = std::malloc(100'000);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  hold();
  map_large();
  leak();
  wipe_stack();
  while (started < 4) usleep(1000);
  print_truth();
  std::fflush(stdout);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  return first_shape == nullptr ? 1 : 0;
}
