// Keeps allocations only by references in odd forms: in a packed struct, with a tag in the highest
// bits, to the second base of an object, to the link at the end of a list's elements, to the end of
// an array, to the word before an array. Prints the number of allocations that nothing references,
//     ready leaked=9 leaked_bytes=N
// and waits for the end of its standard input.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <malloc.h>

#include "talk.h"

namespace {

struct First {
  virtual ~First() = default;
  long number = 0;
};
struct Second {
  virtual ~Second() = default;
};
// A pointer to the second base points to the object's last word.
struct Both : First, Second {};
static_assert(sizeof(Both) == 24);

struct Link {
  Link* next = nullptr;
};
struct Element {
  long key = 0;
  long value = 0;
  Link link;
};
static_assert(sizeof(Element) == 24);

struct [[gnu::packed]] Message {
  char kind = 0;
  void* text = nullptr;
  int bytes = 0;
};

constexpr int kEach = 50;
constexpr int kLeaked = 9;
constexpr unsigned kTagShift = 48;

Link list;                           // of Elements
std::vector<Second*>* seconds;       // of Boths
std::vector<Message>* messages;      // each with a text
std::vector<std::uint64_t>* tagged;  // the addresses of allocations, with a counter
std::vector<long*>* ends;            // of arrays of three
std::vector<long*>* from_one;        // arrays whose first index is 1

[[gnu::noinline]] void keep() {
  seconds = new std::vector<Second*>;
  messages = new std::vector<Message>;
  tagged = new std::vector<std::uint64_t>;
  ends = new std::vector<long*>;
  from_one = new std::vector<long*>;
  for (auto* const pointers : {ends, from_one}) pointers->reserve(kEach);
  seconds->reserve(kEach);
  messages->reserve(kEach);
  tagged->reserve(kEach);
  for (int i = 0; i < kEach; ++i) {
    seconds->push_back(new Both);
    messages->push_back({'m', std::calloc(1, 40), 40});
    const auto address = reinterpret_cast<std::uint64_t>(std::calloc(1, 56));
    tagged->push_back(address | std::uint64_t(i + 1) << kTagShift);
    ends->push_back(new long[3]() + 3);
    from_one->push_back(new long[5]() - 1);
    auto* const element = new Element;
    element->link.next = list.next;
    list.next = &element->link;
  }
}

[[gnu::noinline]] long leak() {
  std::size_t bytes = 0;
  for (int i = 0; i < kLeaked; ++i) {
    void* const forgotten = std::calloc(1, 88);
    bytes += malloc_usable_size(forgotten);
  }
  return static_cast<long>(bytes);
}

// Overwrites what earlier calls left on the stack.
[[gnu::noinline]] void wipe() {
  volatile char unused[32768];
  std::memset(const_cast<char*>(unused), 0, sizeof unused);
}

}  // namespace

int main() {
  keep();
  const long bytes = leak();
  wipe();
  say("ready leaked=%d leaked_bytes=%ld", kLeaked, bytes);
  char line[8];
  while (next_question(line, sizeof line)) continue;
  return 0;
}
