#include "symbols/mono/threads.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {
namespace {

constexpr mono::ThreadClass kClass{
    .vtable = 0x50'0000, .native_id = 88, .small_id = 196, .name = 40, .name_length = 60};
constexpr RemoteAddr kThread{0x70'1000};
constexpr RemoteAddr kObject{0x60'0000};

TEST_CASE("a thread of Mono is known by the object that its own variables reference") {
  FakeMemory memory;
  memory.map_zero(RemoteAddr{kThread.value - 512}, 512);
  memory.map_zero(kObject, 0x200);
  memory.put(RemoteAddr{kThread.value - 16}, kObject.value);
  memory.put(kObject, kClass.vtable);
  memory.put(kObject + kClass.native_id, kThread.value);
  memory.put(kObject + kClass.small_id, std::uint32_t{66});
  memory.put(kObject + kClass.name, std::uint64_t{0x61'0000});
  memory.put(kObject + kClass.name_length, std::uint32_t{3});
  memory.put(RemoteAddr{0x61'0000}, std::uint32_t{0x41a9'c36d});
  const auto known = [&] { return mono::thread_at(kClass, kThread, memory); };
  SUBCASE("with its name") {
    REQUIRE(known());
    CHECK(known()->small_id == 66);
    CHECK(known()->name == "mé");
  }
  SUBCASE("not if the object is another thread's") {
    memory.put(kObject + kClass.native_id, kThread.value + 0x1000);
    CHECK_FALSE(known());
  }
  SUBCASE("nor if it is of another class") {
    memory.put(kObject, kClass.vtable + 8);
    CHECK_FALSE(known());
  }
}

TEST_CASE("the lock that a thread waits for is that of an object on its stack") {
  constexpr RemoteAddr kStack{0x7f'0000};
  constexpr RemoteAddr kRecord{0x62'0030};
  constexpr RemoteAddr kCondition{0x63'0000};
  FakeMemory memory;
  memory.map_zero(kStack, 4096);
  memory.map_zero(kObject, 64);
  memory.map_zero(RemoteAddr{0x62'0000}, 0x100);
  memory.put(kStack + 24, std::uint64_t{0x12345});
  memory.put(kStack + 320, kObject.value);
  memory.put(kObject, kClass.vtable);
  memory.put(kObject + 8, kRecord.value | 2);
  memory.put(kRecord, std::uint64_t{0x1'8000'0043});
  memory.put(kRecord + 40, kCondition.value);
  const auto awaited = [&](std::uint64_t futex) {
    return mono::awaited_lock(RemoteAddr{futex}, kStack, memory);
  };
  SUBCASE("if the futex is in its condition variable") {
    REQUIRE(awaited(kCondition.value + 0x28));
    CHECK(awaited(kCondition.value + 0x28)->object == kObject);
    CHECK(awaited(kCondition.value + 0x28)->vtable == kClass.vtable);
    CHECK(awaited(kCondition.value + 0x2c)->owner == 0x43);
  }
  SUBCASE("not if it is elsewhere") {
    CHECK_FALSE(awaited(kCondition.value + 48));
    CHECK_FALSE(awaited(kCondition.value - 8));
  }
  SUBCASE("or a pulse, if the futex is in that of one of its events") {
    constexpr RemoteAddr kFirst{0x64'0000};
    constexpr RemoteAddr kSecond{0x64'0010};
    constexpr RemoteAddr kEvent{0x65'0000};
    memory.map_zero(kFirst, 64);
    memory.put(kRecord + 16, kFirst.value);
    memory.put(kFirst, kEvent.value + 0x1000);
    memory.put(kFirst + 8, kSecond.value);
    memory.put(kSecond, kEvent.value);
    REQUIRE(awaited(kEvent.value + 96));
    CHECK(awaited(kEvent.value + 96)->is_pulse);
    CHECK(awaited(kEvent.value + 96)->object == kObject);
    CHECK_FALSE(awaited(kEvent.value + 40));  // its mutex
    CHECK_FALSE(awaited(kCondition.value + 0x28)->is_pulse);
    SUBCASE("even if the list never ends") {
      memory.put(kSecond + 8, kFirst.value);
      CHECK_FALSE(awaited(0x66'0000));
    }
  }
  SUBCASE("nor if the object was never waited for") {
    memory.put(kObject + 8, std::uint64_t{0x42 << 10});
    CHECK_FALSE(awaited(kCondition.value + 0x28));
  }
}

}  // namespace
}  // namespace heapattach
