#include "symbols/mono/stack_objects.h"

#include <array>

#include <doctest/doctest.h>

#include "tests/symbols/mono/mono_heap.h"

namespace heapattach {
namespace {

constexpr std::uint64_t kHandle = 0x5600'0000'1000;

// A lock, what has it, and an event of a lock of another kind.
class Waiting {
 public:
  Waiting() : facts_(mono_.facts().value()), classes_(facts_, read_) {
    const auto semaphore =
        mono_.add_class({.name = "Semaphore", .parent = mono_.object, .instance_bytes = 32});
    const auto event =
        mono_.add_class({.name = "Event", .parent = mono_.object, .instance_bytes = 24});
    mono_.set_fields(semaphore, {{"count", 16, mono_.type_of(0, 0x0a)},
                                 {"lockObj", 24, mono_.type_of(mono_.object, mono::kObject)}});
    mono_.set_fields(event, {{"waitHandle", 16, mono_.type_of(0, 0x18)}});
    for (const auto one : {semaphore, event}) mono_.add_vtable(one);
    lock = mono_.instance(mono_.object, 16);
    owner = mono_.instance(semaphore, 32);
    bell = mono_.instance(event, 32);
    mono_.put(owner + 16, bell);  // a number
    mono_.put(owner + 24, lock);
    mono_.put(bell + 16, kHandle);
  }

  std::optional<mono::StackObjects::Field> reference_to(std::uint64_t object) {
    return objects().reference_to(object);
  }
  std::optional<mono::StackObjects::Field> awaited(std::uint64_t futex) {
    return objects().awaited_handle(RemoteAddr{futex});
  }

  std::uint64_t lock = 0;
  std::uint64_t owner = 0;
  std::uint64_t bell = 0;
  bool is_owner_on_stack = true;

 private:
  mono::StackObjects objects() {
    const std::array<std::uint64_t, 6> stack{
        3, 0xffff'8000'0000'0000, lock, bell, is_owner_on_stack ? owner : lock, owner + 8};
    return {classes_, read_, stack};
  }

  MonoHeap mono_;
  mono::Facts facts_;
  mono::ReadWord read_ = [this](std::uint64_t at) -> std::optional<std::uint64_t> {
    const auto word = mono_.heap.fake.memory().read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  };
  mono::ClassReader classes_;
};

TEST_CASE("a lock of Mono is known by the field of an object on the stack that references it") {
  Waiting waiting;
  const auto field = waiting.reference_to(waiting.lock);
  REQUIRE(field);
  CHECK(field->object == waiting.owner);
  CHECK(field->of == "System.Semaphore");
  CHECK(field->name == "lockObj");
  // A number is no reference, even if it is an address.
  CHECK_FALSE(waiting.reference_to(waiting.bell));
  waiting.is_owner_on_stack = false;
  CHECK_FALSE(waiting.reference_to(waiting.lock));
}

TEST_CASE("an event of Mono is the one whose handle has the condition variable of the futex") {
  Waiting waiting;
  const auto field = waiting.awaited(kHandle + 96);
  REQUIRE(field);
  CHECK(field->object == waiting.bell);
  CHECK_FALSE(waiting.awaited(kHandle + 48));
  CHECK_FALSE(waiting.awaited(kHandle + 56 + 48));
}

}  // namespace
}  // namespace heapattach
