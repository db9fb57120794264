#include "symbols/crystal/fibers.h"

#include <optional>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "symbols/crystal/fiber_list.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::crystal {

namespace {

constexpr std::uint64_t kFiberBytes = 176;
constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::size_t kInBlock = 21;
constexpr std::uint64_t kStackBytes = 8U << 20U;
constexpr std::uint32_t kFiberId = 141;

// A heap that contains only objects of Crystal 1.6's class Fiber, and the mappings of their stacks.
// The objects of block `larger` are larger by a granule.
class FakeFibers {
 public:
  explicit FakeFibers(std::size_t count, std::optional<std::size_t> larger = {})
      : larger_(larger), words_((count / kInBlock + 1) * kBlockBytes / 8) {
    Mapping heap;
    heap.range = {kHeap, words_.size() * 8};
    heap.readable = heap.writable = true;
    mappings_.push_back(heap);
    for (std::size_t i = 0; i < count; i += kInBlock) {
      heap::Block block;
      block.start = at(i);
      block.object_bytes = object_bytes(i);
      block.objects = static_cast<std::uint32_t>(std::min(kInBlock, count - i));
      index_.blocks.push_back(block);
    }
    for (std::size_t i = 0; i < count; ++i) add_stack(i);
  }

  [[nodiscard]] RemoteAddr at(std::size_t i) const {
    return kHeap + i / kInBlock * kBlockBytes + i % kInBlock * object_bytes(i);
  }
  [[nodiscard]] static std::uint64_t stack(std::size_t i) {
    return kStacks.value + i * kStackBytes;
  }
  [[nodiscard]] static std::uint64_t bottom(std::size_t i) { return stack(i) + kStackBytes; }

  std::uint64_t& word(std::size_t i, std::uint64_t offset) {
    return words_[(at(i) - kHeap + offset) / 8];
  }
  // Makes a fiber wait, with `used` bytes on its stack.
  void suspend(std::size_t i, std::uint64_t used) {
    word(i, 0) = kFiberId;
    word(i, 8) = bottom(i) - used;
    word(i, 16) = 1;
    word(i, 24) = stack(i);
    word(i, 88) = bottom(i);
  }
  // Links all fibers from the first to the last.
  void link(const std::vector<std::size_t>& order) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      word(order[k], 120) = k + 1 < order.size() ? at(order[k + 1]).value : 0;
      word(order[k], 128) = k > 0 ? at(order[k - 1]).value : 0;
    }
  }

  [[nodiscard]] std::vector<FiberStack> find(const TypeTable& types,
                                             const std::vector<RemoteAddr>& stack_pointers = {}) {
    const MemoryMap map(mappings_);
    write();
    const FiberLayout layout = learn_fibers(types, index_, memory_, map);
    std::vector<FrozenThread> threads;
    for (const RemoteAddr stack_pointer : stack_pointers) {
      FrozenThread thread;
      thread.registers.emplace().stack_pointer = stack_pointer;
      threads.push_back(thread);
    }
    return suspended_fibers(layout, index_, memory_, map, threads);
  }

  void write() {
    const auto bytes = std::as_bytes(std::span(words_));
    memory_.map(kHeap, {bytes.begin(), bytes.end()});
  }
  FakeMemory& memory() { return memory_; }
  // Makes the protected page before each stack readable, as gcore does.
  void make_guards_readable() {
    for (Mapping& mapping : mappings_) mapping.readable = true;
  }

 private:
  static constexpr RemoteAddr kHeap{0x10000000};
  static constexpr RemoteAddr kStacks{0x7f0000000000};

  [[nodiscard]] std::uint64_t object_bytes(std::size_t i) const {
    return larger_ == i / kInBlock ? kFiberBytes + 16 : kFiberBytes;
  }

  void add_stack(std::size_t i) {
    Mapping guard;
    guard.range = {{stack(i)}, 4096};
    Mapping rest;
    rest.range = {{stack(i) + 4096}, kStackBytes - 4096};
    rest.readable = rest.writable = true;
    mappings_.push_back(guard);
    mappings_.push_back(rest);
  }

  std::optional<std::size_t> larger_;
  std::vector<std::uint64_t> words_;
  std::vector<Mapping> mappings_;
  heap::BlockIndex index_;
  FakeMemory memory_;
};

TypeTable named() {
  Type type;
  type.id = kFiberId;
  type.name = "Fiber";
  type.known_from = {KnownFrom::AllocationSite};
  TypeTable types;
  types.add(type);
  return types;
}

TypeTable with_fields() {
  Type type;
  type.id = kFiberId;
  type.name = "Fiber";
  type.instance_bytes = 168;
  type.fields = {{"@context.@stack_top", "Pointer(Void)", 8, 8},
                 {"@stack_bottom", "Pointer(Void)", 88, 8},
                 {"@next", "(Fiber | Nil)", 120, 8},
                 {"@previous", "(Fiber | Nil)", 128, 8}};
  type.known_from = {KnownFrom::TypeInfo};
  TypeTable types;
  types.add(type);
  return types;
}

}  // namespace

TEST_CASE("suspended fibers are found with their stacks, whatever is known about their type") {
  FakeFibers fibers(4);
  for (std::size_t i = 0; i < 4; ++i) fibers.suspend(i, 800 + 16 * i);
  fibers.link({2, 0, 3, 1});
  for (const TypeTable& types : {TypeTable{}, named(), with_fields()}) {
    const auto found = fibers.find(types);
    REQUIRE(found.size() == 4);
    CHECK(found[3].object == fibers.at(3));
    CHECK(found[3].stack == Range{{FakeFibers::bottom(3) - 848}, 848});
    CHECK_FALSE(found[3].is_running);
  }
}

TEST_CASE("fibers are found although gcore marks their guards as readable") {
  FakeFibers fibers(2);
  for (std::size_t i = 0; i < 2; ++i) fibers.suspend(i, 800);
  fibers.link({1, 0});
  fibers.make_guards_readable();
  for (const TypeTable& types : {TypeTable{}, named(), with_fields()}) {
    CHECK(fibers.find(types).size() == 2);
  }
}

TEST_CASE("fibers are found in blocks of each size, whichever the layout was learned from") {
  constexpr std::size_t kCount = 20 * kInBlock;
  for (const TypeTable& types : {TypeTable{}, named(), with_fields()}) {
    for (const std::size_t larger : {0U, 1U, 19U}) {
      CAPTURE(larger);
      FakeFibers fibers(kCount, larger);
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < kCount; ++i) {
        fibers.suspend(i, 800);
        order.push_back(i);
      }
      fibers.link(order);
      CHECK(fibers.find(types).size() == kCount);
    }
  }
}

TEST_CASE("a finished fiber is left out although its stack is still mapped") {
  FakeFibers fibers(4);
  for (std::size_t i = 0; i < 4; ++i) fibers.suspend(i, 800);
  fibers.link({0, 1, 2, 3});
  fibers.word(0, 120) = fibers.at(2).value;  // what deleting number 1 leaves behind
  fibers.word(2, 128) = fibers.at(0).value;
  const auto found = fibers.find(named());
  REQUIRE(found.size() == 3);
  CHECK(found[1].object == fibers.at(2));
}

TEST_CASE("a running fiber's stack begins at its thread's stack pointer") {
  FakeFibers fibers(3);
  for (std::size_t i = 0; i < 3; ++i) fibers.suspend(i, 800);
  fibers.word(1, 16) = 0;
  fibers.link({0, 1, 2});
  const auto found = fibers.find(named(), {{FakeFibers::bottom(1) - 4000}, {0x1234}});
  REQUIRE(found.size() == 3);
  CHECK(found[1].is_running);
  CHECK(found[1].stack.bytes == 4000);
  CHECK_FALSE(found[0].is_running);
}

TEST_CASE("a finished fiber that is still running is found") {
  FakeFibers fibers(3);
  for (std::size_t i = 0; i < 3; ++i) fibers.suspend(i, 800);
  fibers.link({0, 2});
  fibers.word(1, 120) = fibers.at(2).value;
  const auto found = fibers.find(named(), {{FakeFibers::bottom(1) - 160}});
  REQUIRE(found.size() == 3);
  CHECK(found[1].is_running);
}

TEST_CASE("stack pointers to other memory give no range") {
  FakeFibers fibers(5);
  for (std::size_t i = 0; i < 5; ++i) fibers.suspend(i, 800);
  fibers.link({0, 1, 2, 3, 4});
  const TypeTable types = with_fields();
  fibers.word(0, 8) = FakeFibers::bottom(0) + 8;  // above the bottom
  fibers.word(1, 8) = FakeFibers::stack(1) + 8;   // in the protected page
  fibers.word(2, 88) = ~std::uint64_t{0} - 7;     // no bottom at all
  fibers.word(3, 8) += 3;                         // not aligned
  const auto found = fibers.find(types);
  REQUIRE(found.size() == 1);
  CHECK(found[0].object == fibers.at(4));
}

TEST_CASE("a list with a cycle, and one that points outside the heap, end") {
  FakeFibers fibers(4);
  for (std::size_t i = 0; i < 4; ++i) fibers.suspend(i, 800);
  fibers.link({0, 1, 2, 3});
  fibers.word(3, 120) = fibers.at(1).value;
  fibers.word(0, 128) = 0xdead0000;
  CHECK(fibers.find(with_fields()).size() == 2);
}

TEST_CASE("objects that only share the id are not fibers") {
  FakeFibers fibers(3);
  for (std::size_t i = 0; i < 3; ++i) fibers.word(i, 0) = kFiberId;
  CHECK(fibers.find(named()).empty());
  CHECK(fibers.find(TypeTable{}).empty());
}

TEST_CASE("a fiber's name is its String, bounded and checked") {
  FakeFibers fibers(2);
  fibers.suspend(0, 800);
  fibers.suspend(1, 800);
  fibers.link({0, 1});
  constexpr RemoteAddr kName{0x20000000};
  struct {
    std::uint32_t id = 1, bytes = 6, length = 6;
    char text[8] = "worker";
  } name;
  fibers.memory().put(kName, name);
  fibers.word(1, 96) = kName.value;
  const auto found = fibers.find(named());
  REQUIRE(found.size() == 2);
  CHECK(fiber_name(found[0], fibers.memory()).empty());
  CHECK(fiber_name(found[1], fibers.memory()) == "worker");
  name.bytes = ~0U;
  fibers.memory().put(kName, name);
  CHECK(fiber_name(found[1], fibers.memory()).empty());
}

namespace {

FiberLayout known_layout() {
  FiberLayout layout;
  layout.type_id = kFiberId;
  layout.object_bytes = kFiberBytes;
  layout.stack_top = 8;
  layout.stack_bottom = 88;
  layout.name = 96;
  layout.next = 120;
  layout.previous = 128;
  return layout;
}

std::set<std::uint64_t> listed_from(FakeFibers& fibers, const std::vector<RemoteAddr>& known) {
  fibers.write();
  std::set<std::uint64_t> found;
  for (const ListedFiber& fiber : listed_fibers(known_layout(), known, fibers.memory())) {
    found.insert(fiber.object.value);
  }
  return found;
}

}  // namespace

TEST_CASE("the list of all fibers is found from any that is in it") {
  FakeFibers fibers(4);
  std::set<std::uint64_t> all;
  for (std::size_t i = 0; i < 4; ++i) {
    fibers.suspend(i, 800);
    all.insert(fibers.at(i).value);
  }
  fibers.link({2, 0, 3, 1});
  fibers.write();
  for (std::size_t i = 0; i < 4; ++i) CHECK(listed_from(fibers, {fibers.at(i)}) == all);
  const auto found = listed_fibers(known_layout(), std::vector{fibers.at(3)}, fibers.memory());
  CHECK(found.front().stack_bottom.value == FakeFibers::bottom(3));
  CHECK(listed_from(fibers, {{0xdead0000}, fibers.at(1)}) == all);
  CHECK(listed_from(fibers, {{0xdead0000}}).empty());
}

TEST_CASE("a finished fiber leads to no list, and is in none") {
  FakeFibers fibers(4);
  for (std::size_t i = 0; i < 4; ++i) fibers.suspend(i, 800);
  fibers.link({0, 1, 2, 3});
  fibers.word(0, 120) = fibers.at(2).value;  // what deleting number 1 leaves behind
  fibers.word(2, 128) = fibers.at(0).value;
  CHECK(listed_from(fibers, {fibers.at(1)}).empty());
  CHECK(listed_from(fibers, {fibers.at(1), fibers.at(3)}).size() == 3);
}

TEST_CASE("following a list that changes, or is a cycle, comes to an end") {
  FakeFibers fibers(3);
  for (std::size_t i = 0; i < 3; ++i) fibers.suspend(i, 800);
  fibers.link({0, 1, 2});
  fibers.word(2, 120) = fibers.at(0).value;
  fibers.word(0, 128) = fibers.at(2).value;
  CHECK(listed_from(fibers, {fibers.at(0)}).size() == 3);
  fibers.word(1, 0) = 7;  // not a fiber any more
  CHECK(listed_from(fibers, {fibers.at(0)}).size() == 2);
}

}  // namespace heapattach::crystal
