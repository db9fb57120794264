// Has a heap of the collector and a heap of glibc's malloc, with references in both directions, and
// knows what is in them. After a collection, nothing is freed any more.
//
//   ready gc_heap=N gc_free=N        the collector's own numbers, with what it has unmapped
//         in_use=N arena=N …         what malloc has: see malloced.cpp
//         into_malloc=N into_gc=N    references from one heap into the other
//         text=N                     the address of a text of malloc's, which global sessions →
//                                    Session → Buffer references
//   garbage                          forgets objects of both heaps, and answers
//         leaked=N leaked_bytes=N    of malloc's objects: nobody can free them
//         kept_one=N in_use=N …      the address of an object of malloc's that only garbage of the
//                                    collector references, which malloc's memory references
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define GC_THREADS
#include <gc.h>
#include <malloc.h>

#include "malloc_counter.h"
#include "talk.h"

struct Session;

// An allocation of malloc.
struct Buffer {
  char* text;
  Session* owner;
};
struct Item {
  Item* next;
  Session* session;
  std::uint64_t number;
};
struct Holder {
  Session* garbage;
};

// An object of the collector.
struct Session {
  Session* next;
  Buffer* buffer;
  void* hidden;  // an atomic object of the collector, which contains a pointer to malloc's memory
  std::uint64_t number;
};

Session* sessions;
Item* items;
Session** registered;
Holder* holders[9];

namespace {

constexpr int kSessions = 200;
constexpr int kHidden = 20;  // sessions with a hidden object
constexpr int kItems = 150;
constexpr int kRegistered = 5;
constexpr int kText = 100;

std::uint64_t into_malloc = 0;
std::uint64_t into_gc = 0;
std::uint64_t leaked = 0;
std::uint64_t leaked_bytes = 0;

template <class T>
T* plain() {
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}
template <class T>
T* collected() {
  return static_cast<T*>(GC_MALLOC(sizeof(T)));
}
char* text() {
  return static_cast<char*>(std::calloc(1, kText));
}

template <class T>
T* forgotten(T* object) {
  ++leaked;
  leaked_bytes += malloc_usable_size(object);
  return object;
}

[[gnu::noinline]] void build() {
  for (int i = 0; i < kSessions; ++i) {
    Session* session = collected<Session>();
    session->next = sessions;
    session->number = i;
    session->buffer = plain<Buffer>();
    session->buffer->owner = session;
    session->buffer->text = text();
    into_malloc += 1;
    into_gc += 1;
    if (i < kHidden) {
      auto** hidden = static_cast<char**>(GC_MALLOC_ATOMIC(64));
      std::memset(hidden, 0, 64);
      hidden[3] = text();
      session->hidden = hidden;
      into_malloc += 1;
    }
    sessions = session;
  }
  Session* session = sessions;
  for (int i = 0; i < kItems; ++i, session = session->next) {
    Item* item = plain<Item>();
    item->next = items;
    item->session = session;
    into_gc += 1;
    items = item;
  }
  // The collector scans this memory of malloc, and only this keeps the sessions alive.
  registered = static_cast<Session**>(std::calloc(kRegistered, sizeof *registered));
  GC_add_roots(registered, registered + kRegistered);
  for (int i = 0; i < kRegistered; ++i) {
    registered[i] = collected<Session>();
    registered[i]->buffer = plain<Buffer>();
    into_gc += 1;
    into_malloc += 1;
  }
}

void finalize(void* object, void*) {
  std::free(static_cast<Session*>(object)->buffer);
}

[[gnu::noinline]] void forget() {
  for (int i = 0; i < 30; ++i) {
    Buffer* buffer = forgotten(plain<Buffer>());
    buffer->text = forgotten(text());
    asm volatile("" : : "r"(buffer) : "memory");
  }
  // Garbage that references malloc's memory fills several blocks, so it is also at a block's start.
  for (int i = 0; i < 300; ++i) {
    Session* session = collected<Session>();
    session->buffer = forgotten(plain<Buffer>());
    asm volatile("" : : "r"(session) : "memory");
  }
  for (int i = 0; i < 4; ++i) {  // cycles across the two heaps
    Session* session = collected<Session>();
    session->buffer = forgotten(plain<Buffer>());
    session->buffer->owner = session;
    asm volatile("" : : "r"(session) : "memory");
  }
}

// Makes allocations that only the collector's objects reference, and that are not leaked.
[[gnu::noinline]] void keep() {
  for (int i = 0; i < 7; ++i) {  // the collector keeps them until their finalizers have run
    Session* session = collected<Session>();
    session->buffer = plain<Buffer>();
    GC_register_finalizer(session, finalize, nullptr, nullptr, nullptr);
    asm volatile("" : : "r"(session) : "memory");
  }
  for (Holder*& holder : holders) {
    holder = plain<Holder>();
    holder->garbage = collected<Session>();
    holder->garbage->buffer = plain<Buffer>();
  }
}

// Overwrites what was left on the stack.
[[gnu::noinline]] void wipe_stack() {
  volatile char used[32768];
  for (volatile char& one : used) one = 0;
}

void say_malloc(const char* before) {
  const auto now = mallinfo2();
  say("%s in_use=%zu arena=%zu used=%zu free=%zu fast=%zu mapped=%zu mapped_bytes=%zu", before,
      count_in_use(), now.arena, now.uordblks, now.fordblks, now.fsmblks, now.hblks, now.hblkhd);
}

void say_ready() {
  GC_prof_stats_s stats;
  GC_get_prof_stats(&stats, sizeof stats);
  static char text[512];
  std::snprintf(text, sizeof text,
                "ready gc_heap=%lu gc_free=%lu into_malloc=%lu into_gc=%lu text=%lu",
                stats.heapsize_full, stats.free_bytes_full, into_malloc, into_gc,
                reinterpret_cast<std::uint64_t>(sessions->next->buffer->text));
  say_malloc(text);
}

void answer_garbage() {
  forget();
  keep();
  wipe_stack();
  static char text[512];
  std::snprintf(text, sizeof text, "leaked=%lu leaked_bytes=%lu kept_one=%lu", leaked, leaked_bytes,
                reinterpret_cast<std::uint64_t>(holders[3]->garbage->buffer));
  say_malloc(text);
}

}  // namespace

int main() {
  static char out[4096];
  std::setvbuf(stdout, out, _IOFBF, sizeof out);  // so that printing allocates nothing
  GC_INIT();
  build();
  wipe_stack();
  GC_gcollect();
  GC_gcollect();
  GC_disable();
  say_ready();
  char question[64];
  while (next_question(question, sizeof question)) {
    if (is(question, "garbage")) answer_garbage();
  }
  return sessions == nullptr ? 1 : 0;
}
