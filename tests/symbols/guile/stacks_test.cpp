#include "symbols/guile/stacks.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::guile {
namespace {

constexpr RemoteAddr kStack{0x6000'0000'0000};
constexpr std::uint64_t kBytes = 8192;

struct Machine {
  explicit Machine(bool of_22) : is_22(of_22) {
    fake.add_memory(kStack, kBytes);
    // Since 3.0, the state of a thread is an object of its own kind.
    at = is_22 ? fake.add_block({.object_bytes = 144})
               : fake.add_block({.object_bytes = 512, .kind = 6});
    put(is_22 ? 1 : 2, kStack.value + 4096);
    put(is_22 ? 2 : 3, kStack.value + 5000 / 8 * 8);
    put(6, kBytes / 8);
    put(7, kStack.value);
    put(is_22 ? 8 : 12, kStack.value + kBytes);
  }
  void put(std::size_t word, std::uint64_t value) { fake.put(at + word * 8, value); }
  std::vector<Range> stacks() {
    const auto index = boehm::read_blocks(fake.memory(), fake.map(), fake.layout());
    const Facts facts{.slots_at = is_22 ? 16U : 8U, .leads_to_slots = is_22};
    return machine_stacks(facts, index.value().blocks, fake.memory(), fake.map());
  }

  FakeGcHeap fake;
  bool is_22;
  RemoteAddr at;
};

TEST_CASE("the stack of Guile's machine is what its registers agree on") {
  for (const bool is_22 : {false, true}) {
    CAPTURE(is_22);
    CHECK(Machine(is_22).stacks() == std::vector<Range>{{kStack + 4096, 4096}});
    Machine other_size(is_22);
    other_size.put(6, kBytes / 8 + 1);
    CHECK(other_size.stacks().empty());
    Machine outside(is_22);
    outside.put(is_22 ? 1 : 2, kStack.value - 8);
    CHECK(outside.stacks().empty());
    Machine empty(is_22);
    empty.put(is_22 ? 1 : 2, kStack.value + kBytes);
    empty.put(is_22 ? 2 : 3, kStack.value + kBytes);
    CHECK(empty.stacks().empty());
    Machine unmapped(is_22);
    unmapped.put(7, kStack.value + (1 << 20));
    unmapped.put(is_22 ? 1 : 2, kStack.value + (1 << 20));
    unmapped.put(is_22 ? 2 : 3, kStack.value + (1 << 20));
    unmapped.put(is_22 ? 8 : 12, kStack.value + (1 << 20) + kBytes);
    CHECK(unmapped.stacks().empty());
  }
}

}  // namespace
}  // namespace heapattach::guile
