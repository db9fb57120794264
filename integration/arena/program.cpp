// Has an allocator of its own: objects of one size in one mapping, each with a header. Some are in
// a list, some belong to malloc's objects, and some have been forgotten.
//
//   ready used=N leaked=N            objects of the arena; those leaked are among those used
//         heap_bytes=N free_bytes=N  of the whole arena
//         last=N                     the address of the last object of the list that `first` begins
//         of_ticket=N                the address of one that only an object of malloc's references
//         leaks=N                    leaked objects that no other one references
//   unticket                         forgets malloc's objects, and answers leaked=N and freed=N:
//   those
//                                    of the arena, and those of malloc
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include "../targets/talk.h"

constexpr int kSlots = 4000;
constexpr int kListed = 2500;
constexpr int kChains = 30;
constexpr int kChain = 5;
constexpr int kTickets = 40;
constexpr int kFreed = 300;

struct Node {
  Node* next;
  std::uint64_t number;
  char rest[32];
};
struct Slot {
  std::uint64_t is_used;
  std::uint64_t unused;
  Node node;
};
struct Arena {
  char mark[16];
  std::uint64_t object_bytes;
  std::uint64_t slots;
  Slot slot[kSlots];
};
struct Ticket {
  Ticket* next;
  Node* node;
  char rest[104];
};

Arena* arena;
Node* first;
Ticket* tickets;
static int used;

static Node* new_node(Node* next) {
  Slot* slot = &arena->slot[used++];
  slot->is_used = 1;
  slot->node.next = next;
  slot->node.number = static_cast<std::uint64_t>(used);
  return &slot->node;
}

[[gnu::noinline]] static void build(std::uintptr_t* last, std::uintptr_t* of_ticket) {
  for (int i = 0; i < kListed; ++i) {
    first = new_node(first);
    if (i == 0) *last = reinterpret_cast<std::uintptr_t>(first);
  }
  for (int i = 0; i < kChains; ++i) {
    Node* chain = nullptr;
    for (int j = 0; j < kChain; ++j) chain = new_node(chain);
  }
  for (int i = 0; i < kTickets; ++i) {
    Ticket* ticket = static_cast<Ticket*>(std::calloc(1, sizeof(Ticket)));
    ticket->next = tickets;
    ticket->node = new_node(nullptr);
    tickets = ticket;
    *of_ticket = reinterpret_cast<std::uintptr_t>(ticket->node);
  }
  for (int i = 0; i < kFreed; ++i) {
    Slot* slot = &arena->slot[used + i];
    slot->node.next = first;  // a freed object keeps nothing alive
  }
}

// Clears the unused part of the stack, which may have the addresses of forgotten objects.
[[gnu::noinline]] static void clear_stack() {
  volatile char unused[16384];
  std::memset(const_cast<char*>(unused), 0, sizeof unused);
}

int main() {
  void* memory =
      ::mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  arena = static_cast<Arena*>(memory);
  std::strcpy(arena->mark, "arena of a test");
  arena->object_bytes = sizeof(Node);
  arena->slots = kSlots;
  std::uintptr_t last = 0;
  std::uintptr_t of_ticket = 0;
  build(&last, &of_ticket);
  clear_stack();
  say("ready used=%d leaked=%d heap_bytes=%zu free_bytes=%zu last=%zu of_ticket=%zu leaks=%d", used,
      kChains * kChain, sizeof(Arena), (kSlots - static_cast<std::size_t>(used)) * sizeof(Slot),
      static_cast<std::size_t>(last), static_cast<std::size_t>(of_ticket), kChains);
  // The addresses were printed, and must not keep the objects alive.
  last = of_ticket = 0;
  clear_stack();
  char line[64];
  while (next_question(line, sizeof line)) {
    tickets = nullptr;
    say("leaked=%d freed=%d", kChains * kChain + kTickets, kTickets);
  }
  return 0;
}
