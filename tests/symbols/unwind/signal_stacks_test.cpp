// Finds the stacks of threads whose signal handlers run on another stack.

#include "symbols/unwind/signal_stacks.h"

#include <doctest/doctest.h>

#include "symbols/unwind/arch/aarch64.h"
#include "symbols/unwind/arch/signal_return.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::unwind {

namespace {

constexpr RemoteAddr kCode{0x10000};
constexpr RemoteAddr kHandlerStack{0x20000};
constexpr RemoteAddr kOwnStack{0x30000};

// A thread in a handler, which returns to code at kCode + 0x100.
struct Target {
  Target() {
    memory.map_zero(kCode, 0x1000);
    memory.put(kCode + 0x100, kSignalReturn);
    memory.map_zero(kHandlerStack, 0x1000);
    memory.map_zero(kOwnStack, 0x1000);
    memory.put(kHandlerStack + 0x400, kCode.value + 0x100);
    interrupted_at(kOwnStack.value + 0x800);
    thread.tid = 1;
    thread.registers.emplace();
    thread.registers->stack_pointer = kHandlerStack + 0x200;
    thread.registers->thread_pointer = kOwnStack + 0xf00;
  }
  void interrupted_at(std::uint64_t stack_pointer) {
    memory.put(kHandlerStack + 0x408 + kSavedStackPointerAt, stack_pointer);
  }
  [[nodiscard]] std::vector<Range> stacks() const {
    const auto map = parse_maps(
                         "10000-11000 r-xp 00000000 08:01 1 /lib/libc.so.6\n"
                         "20000-21000 rw-p 00000000 00:00 0\n"
                         "30000-31000 rw-p 00000000 00:00 0\n"
                         "40000-41000 r--p 00000000 00:00 0\n")
                         .value();
    return interrupted_stacks(std::span(&thread, 1), map, memory);
  }

  FakeMemory memory;
  FrozenThread thread;
};

}  // namespace

TEST_CASE("the stack that a signal interrupted is found from its handler's") {
  Target target;
  const auto stacks = target.stacks();
  REQUIRE(stacks.size() == 1);
  CHECK(stacks[0].start == kOwnStack + 0x780);  // including the area below the stack pointer
  CHECK(stacks[0].end() == kOwnStack + 0x1000);
}

TEST_CASE("aarch64: the stack that a signal interrupted is found from its handler's") {
  constexpr RemoteAddr kData = kHandlerStack + 0x480;  // the kernel's data, between two frames
  constexpr RemoteAddr kMade = kHandlerStack + 0xe00;
  Target target;
  target.memory.put(kCode + 0x100, aarch64::kSignalReturn);
  target.memory.put(kHandlerStack + 0x3f8, kMade.value);
  target.memory.put(kMade, std::uint64_t{0x1234});
  target.memory.put(kMade + 8, std::uint64_t{0x5678});
  const RemoteAddr saved = kData + aarch64::kSavedAt;
  target.memory.put(saved + std::uint64_t{29} * 8, std::uint64_t{0x1234});
  target.memory.put(saved + std::uint64_t{30} * 8, std::uint64_t{0x5678});
  target.memory.put(saved + std::uint64_t{31} * 8, kOwnStack.value + 0x800);
  SUBCASE("as the kernel writes it") {
    const auto stacks = target.stacks();
    REQUIRE(stacks.size() == 1);
    CHECK(stacks[0].start == kOwnStack + 0x800);  // nothing is below the stack pointer
    CHECK(stacks[0].end() == kOwnStack + 0x1000);
  }
  SUBCASE("other registers than the frame has") {
    target.memory.put(saved + std::uint64_t{30} * 8, std::uint64_t{0x5679});
    CHECK(target.stacks().empty());
  }
  SUBCASE("the frame is below the handler's") {
    target.memory.put(kHandlerStack + 0x3f8, kHandlerStack.value + 0x300);
    CHECK(target.stacks().empty());
  }
}

TEST_CASE("only a frame that a handler returns from continues on another stack") {
  Target target;
  SUBCASE("the code is something else") {
    target.memory.put(kCode + 0x100, std::uint64_t{0x90909090});
    CHECK(target.stacks().empty());
  }
  SUBCASE("it interrupted code on the same stack") {
    target.interrupted_at(kHandlerStack.value + 0x900);
    CHECK(target.stacks().empty());
  }
  SUBCASE("the stack pointer points nowhere") {
    target.interrupted_at(0x7777);
    CHECK(target.stacks().empty());
  }
  SUBCASE("the stack pointer does not point to a stack") {
    target.interrupted_at(0x40800);
    CHECK(target.stacks().empty());
  }
  SUBCASE("the thread is on its own stack") {
    target.thread.registers->thread_pointer = kHandlerStack + 0xf00;
    CHECK(target.stacks().empty());
  }
  SUBCASE("the thread could not be stopped") {
    target.thread.registers.reset();
    CHECK(target.stacks().empty());
  }
}

}  // namespace heapattach::unwind
