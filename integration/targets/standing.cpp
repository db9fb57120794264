// Threads wait below every kind of C++ function; each is named after its function. Prints "ready"
// when all of them wait.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "thread_state.h"

#define OWN __attribute__((noinline))

namespace {

std::atomic<int> never{0};  // makes the compiler keep the code after a call that does not return

struct Way {
  const char* name;
  void (*stand)();
  std::atomic<int> tid{0};
};
thread_local Way* way = nullptr;

OWN void sleep_long() {
  const timespec long_time{100000, 0};
  way->tid = static_cast<int>(syscall(SYS_gettid));
  while (nanosleep(&long_time, nullptr) != 0) {
  }
  ++never;
}

OWN void in_unnamed_namespace() {
  sleep_long();
  ++never;
}

}  // namespace

namespace app {

class Cart {
 public:
  OWN explicit Cart(int items) : items_(items) {
    sleep_long();
    ++items_;
  }
  OWN explicit Cart(const std::string& text) : items_(static_cast<int>(text.size())) {}
  OWN ~Cart() {
    if (items_ > 3) sleep_long();
    never += items_;
  }
  OWN int operator()(int more, const std::vector<int>& others) const {
    sleep_long();
    return items_ + more + static_cast<int>(others.size());
  }
  OWN static int total(const Cart& a, const Cart& b) {
    sleep_long();
    return a.items_ + b.items_;
  }
  OWN Cart operator+(const Cart& other) const {
    sleep_long();
    return Cart(std::string(static_cast<std::size_t>(items_ + other.items_), 'x'));
  }

 private:
  int items_;
};

struct Shape {
  virtual ~Shape() = default;
  virtual double area(double scale) const = 0;
};
template <class Number, int kSides>
struct Polygon final : Shape {
  OWN double area(double scale) const override {
    sleep_long();
    return scale * kSides + static_cast<double>(Number{}) + never;
  }
};

template <class Function>
OWN auto call_with(Function&& function, int argument) {
  auto result = function(argument);
  ++never;
  return result;
}

template <class... Arguments>
OWN int count_all(Arguments... arguments) {
  sleep_long();
  return static_cast<int>(sizeof...(arguments)) + never;
}

}  // namespace app

namespace {

using namespace std::string_literals;

OWN void in_constructor() {
  const app::Cart cart(5);
  ++never;
}
OWN void in_destructor() {
  const app::Cart cart("four"s);
  ++never;
}
OWN void in_call_operator() {
  const app::Cart cart("one"s);
  never += cart(2, {1, 2, 3});
}
OWN void in_static_member() {
  const app::Cart cart("two"s);
  never += app::Cart::total(cart, cart);
}
OWN void in_operator() {
  const app::Cart cart("3"s);
  const app::Cart sum = cart + cart;
  ++never;
}
OWN void in_virtual() {
  const app::Polygon<unsigned long, 6> polygon;
  const app::Shape* volatile const shape = &polygon;
  never += static_cast<int>(shape->area(2.5));
}
OWN void in_lambda() {
  const int captured = never;
  never += app::call_with(
      [&](int argument) {
        sleep_long();
        return argument + captured;
      },
      7);
}
OWN void in_function_object() {
  const std::function<int(const std::string&)> function = [](const std::string& text) {
    sleep_long();
    return static_cast<int>(text.size()) + never;
  };
  never += function("text");
}
OWN void in_pack() {
  never += app::count_all(1, 2.5, "three", 'c');
}
OWN void in_sort() {
  std::vector<int> numbers = {3, 1, 2, never, 5};
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
    sleep_long();
    return a < b;
  });
  never += numbers[0];
}
OWN void throw_number(int number) {
  if (number > never - 1000) throw number;
}
OWN void in_catch() {
  try {
    throw_number(12);
  } catch (const int& number) {
    sleep_long();
    never += number;
  }
}

Way ways[] = {
    {"unnamed", in_unnamed_namespace},
    {"constructor", in_constructor},
    {"destructor", in_destructor},
    {"call-operator", in_call_operator},
    {"static", in_static_member},
    {"operator", in_operator},
    {"virtual", in_virtual},
    {"lambda", in_lambda},
    {"function", in_function_object},
    {"pack", in_pack},
    {"sort", in_sort},
    {"catch", in_catch},
};

void* run(void* argument) {
  way = static_cast<Way*>(argument);
  pthread_setname_np(pthread_self(), way->name);
  way->stand();
  return nullptr;
}

}  // namespace

int main() {
  for (Way& one : ways) {
    pthread_t thread;
    pthread_create(&thread, nullptr, run, &one);
  }
  const timespec moment{0, 1000000};
  for (const Way& one : ways) {
    while (one.tid == 0 || state_of_thread(one.tid) != 'S') nanosleep(&moment, nullptr);
  }
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  _exit(0);
}
