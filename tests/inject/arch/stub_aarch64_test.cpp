// Compiled for aarch64 only: tests that processor's instructions.

#include <cstring>

#include <doctest/doctest.h>

#include "inject/arch/stub.h"

namespace heapattach {

namespace {

constexpr RemoteAddr kAt{0xaaaa'0000'0400};
constexpr std::uint64_t kReach = std::uint64_t{128} << 20;

RawRegisters going_to(RemoteAddr goal) {
  RawRegisters registers;
  registers.general.sp = 0x7000;
  registers.general.pc = goal.value;
  return registers;
}

// The destinations of the direct jumps (b) that leave the code at `at`.
std::vector<RemoteAddr> jumps_out(std::span<const std::byte> code, RemoteAddr at) {
  std::vector<RemoteAddr> goals;
  for (std::size_t offset = 0; offset + 4 <= code.size(); offset += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, code.data() + offset, sizeof word);
    if (word >> 26U != 5) continue;
    const auto distance = static_cast<std::int32_t>(word << 6U) >> 4;
    const RemoteAddr goal = at + offset + static_cast<std::uint64_t>(std::int64_t{distance});
    if (goal < at || goal >= at + code.size()) goals.push_back(goal);
  }
  return goals;
}

}  // namespace

TEST_CASE("a stub jumps to where the thread was, forwards and backwards") {
  for (const RemoteAddr goal :
       {kAt + 0x10000, kAt - 0x10000, kAt + kReach - 4096, kAt - kReach + 4096}) {
    CHECK(Stub::can_return(kAt, goal));
    const auto image = Stub::image(kAt, going_to(goal), 0, 3);
    CHECK(jumps_out(image, kAt) == std::vector{goal});
    const auto longer = Stub::function_image(kAt, going_to(goal), 0);
    CHECK(jumps_out(longer, kAt) == std::vector{goal});
  }
}

TEST_CASE("no stub is put where its jump does not reach") {
  CHECK(!Stub::can_return(kAt, kAt + kReach));
  CHECK(!Stub::can_return(kAt, kAt - kReach));
  CHECK(!Stub::can_return(kAt, {0xffff'0000'0000}));
  CHECK(!Stub::can_return(kAt, kAt + 0x10002));
}

TEST_CASE("a stub that was left is recognised wherever it jumps to") {
  for (const bool calls : {false, true}) {
    const RawRegisters back = going_to(kAt + 0x10000);
    auto image = calls ? Stub::function_image(kAt, back, 0) : Stub::image(kAt, back, 0, 3);
    const auto left = Stub::recognize(image);
    REQUIRE(left.has_value());
    CHECK(left->bytes == image.size());
    CHECK(left->stack == RemoteAddr{0x7000});
    image[8] ^= std::byte{1};
    CHECK(!Stub::recognize(image));
  }
}

}  // namespace heapattach
