// Makes jobs of classes with every kind of bases, and prints how many of each. It is built without
// symbols, linked in every way, with malloc or with the collector.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "talk.h"

#ifdef WITH_COLLECTOR
#include <gc.h>

void* operator new(std::size_t bytes) {
  return GC_MALLOC(bytes);
}
void operator delete(void* at) noexcept {
  GC_FREE(at);
}
void operator delete(void* at, std::size_t) noexcept {
  GC_FREE(at);
}
#endif

namespace shop {

struct Job {
  virtual ~Job() = default;
  virtual int run() { return 1; }
  Job* next = nullptr;
};
struct Logged {
  virtual ~Logged() = default;
  virtual int log() { return 2; }
  long lines = 0;
};
struct MailJob : Job {
  int run() override { return 3; }
  char address[80] = {};
};
struct LoggedJob : Job, Logged {
  int run() override { return 4; }
};
struct SharedJob : virtual Job {
  int run() override { return 5; }
  long owner = 0;
};
template <class Item>
struct Box : Job {
  Item item{};
};

}  // namespace shop

namespace {

struct Hidden : shop::Job {
  int run() override { return 6; }
};

shop::Job* first = nullptr;
std::vector<std::shared_ptr<shop::LoggedJob>>* shared = nullptr;

template <class Kind>
void make(int count) {
  for (int i = 0; i < count; ++i) {
    shop::Job* const made = new Kind;
    made->next = first;
    first = made;
  }
}

}  // namespace

int main() {
#ifdef WITH_COLLECTOR
  GC_INIT();
#endif
  make<shop::Job>(100);
  make<shop::MailJob>(2000);
  make<shop::LoggedJob>(300);
  make<shop::SharedJob>(400);
  make<shop::Box<long>>(500);
  make<Hidden>(600);
  shared = new std::vector<std::shared_ptr<shop::LoggedJob>>;
  for (int i = 0; i < 70; ++i) shared->push_back(std::make_shared<shop::LoggedJob>());
  int sum = 0;
  for (shop::Job* job = first; job != nullptr; job = job->next) sum += job->run();
  say("ready sum=%d", sum);
  char line[64];
  while (next_question(line, sizeof line)) {
    say("shop::Job=100 shop::MailJob=2000 shop::LoggedJob=300 shop::SharedJob=400 "
        "shop::Box<long>=500 (anonymous-namespace)::Hidden=600 shared=70");
  }
}
