// Makes objects of a few classes for ever, on the collector's heap or on malloc's (WITH_MALLOC).
// Each class has its own function: make_circle makes Circles. Some objects are freed at once, so
// that the next object gets their memory; some stay; some are left to the collector. Slow's base
// class takes milliseconds to construct its part. Prints "ready".

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#ifndef WITH_MALLOC
#include <gc.h>
#endif
#include <unistd.h>

#define SITE __attribute__((noinline))

static volatile int seen;

#ifdef WITH_MALLOC
static void* take(std::size_t bytes) {
  return std::malloc(bytes);
}
static void* take_numbers(std::size_t bytes) {
  return std::malloc(bytes);
}
static void give_back(void* object) {
  std::free(object);
}
#else
static void* take(std::size_t bytes) {
  return GC_MALLOC(bytes);
}
static void* take_numbers(std::size_t bytes) {
  return GC_MALLOC_ATOMIC(bytes);
}
static void give_back(void* object) {
  GC_FREE(object);
}
#endif

struct Shape {
  Shape() = default;
  explicit Shape(unsigned microseconds) { usleep(microseconds); }
  virtual ~Shape() = default;
  virtual int sides() const { return 0; }
  static void* operator new(std::size_t bytes) { return take(bytes); }
  static void operator delete(void* object) { give_back(object); }
  long place[3] = {1, 2, 3};
};
struct Circle : Shape {
  int sides() const override { return 1; }
};
struct Square : Shape {
  int sides() const override { return 4; }
};
struct Slow : Shape {
  Slow() : Shape(5000) {}
  int sides() const override { return 7; }
};

// The code after each allocation keeps the call from becoming a jump, which would leave no frame.
SITE static Shape* make_shape() {
  auto* made = new Shape;
  seen = made->sides();
  return made;
}
SITE static Shape* make_circle() {
  auto* made = new Circle;
  seen = made->sides();
  return made;
}
SITE static Shape* make_square() {
  auto* made = new Square;
  seen = made->sides();
  return made;
}
SITE static Shape* make_slow() {
  auto* made = new Slow;
  seen = made->sides();
  return made;
}
SITE static long* make_numbers() {
  auto* made = static_cast<long*>(take_numbers(sizeof(Shape)));
  made[0] = seen;
  return made;
}

int main() {
#ifndef WITH_MALLOC
  GC_INIT();
#endif
  constexpr int kKept = 4096;
  constexpr int kEach = 5;
  static Shape* kept[kKept];
  std::printf("ready\n");
  std::fflush(stdout);
  for (int round = 0;; ++round) {
    for (int i = 0; i < kEach; ++i) {
      delete make_circle();
      kept[(round * kEach + i) % kKept] = make_square();
      delete make_square();
      make_shape();
      make_numbers();
    }
    if (round % 16 == 0) make_slow();
    usleep(2000);
  }
}
