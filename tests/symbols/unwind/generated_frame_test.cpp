#include "symbols/unwind/arch/generated_frame.h"

#include <array>

#include <doctest/doctest.h>
#include <elf.h>

namespace heapattach::unwind {
namespace {

constexpr RemoteAddr kStart{0x4100'0000};

std::optional<GeneratedFrame> frame_at(std::initializer_list<int> code, std::uint64_t pc) {
  GeneratedFunction function{{kStart, 0x100}, "method", {}};
  for (const int byte : code) function.start.push_back(static_cast<std::byte>(byte));
  return generated_frame(EM_X86_64, function, kStart + pc);
}

std::vector<std::pair<std::size_t, std::uint64_t>> saved(const GeneratedFrame& frame) {
  std::vector<std::pair<std::size_t, std::uint64_t>> all;
  for (const auto& one : frame.saved) all.emplace_back(one.number, one.below);
  return all;
}

using Saved = std::vector<std::pair<std::size_t, std::uint64_t>>;

// sub rsp, 0x28; mov [rsp], r14; mov [rsp+8], r15; mov r14, rdi; mov [rsp+0x10], r14; call
const std::initializer_list<int> kWithout = {
    0x48, 0x83, 0xec, 0x28, 0x4c, 0x89, 0x34, 0x24, 0x4c, 0x89, 0x7c, 0x24, 0x08, 0x4c, 0x8b,
    0xf7, 0x4c, 0x89, 0x74, 0x24, 0x10, 0xe8, 0,    0,    0,    0,    0x48, 0x83, 0xc4, 0x28};
// push rbp; mov rbp, rsp; sub rsp, 0x50; mov [rbp-0x18], r12; call
const std::initializer_list<int> kWith = {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x50, 0x4c,
                                          0x89, 0x65, 0xe8, 0xe8, 0,    0,    0,    0};

TEST_CASE("a frame without a frame pointer ends above the room that was made") {
  const auto frame = frame_at(kWithout, 0x60);
  REQUIRE(frame);
  CHECK_FALSE(frame->is_from_frame_pointer);
  CHECK(frame->bytes == 0x30);
  CHECK(saved(*frame) == Saved{{14, 0x30}, {15, 0x28}});
}

TEST_CASE("a frame with a frame pointer ends above that and the return address") {
  const auto frame = frame_at(kWith, 0x60);
  REQUIRE(frame);
  CHECK(frame->is_from_frame_pointer);
  CHECK(frame->bytes == 16);
  CHECK(saved(*frame) == Saved{{6, 16}, {12, 16 + 0x18}});
}

TEST_CASE("only the instructions before the current one have made the frame") {
  CHECK(frame_at(kWithout, 0)->bytes == 8);
  CHECK(frame_at(kWithout, 4)->bytes == 0x30);
  CHECK(frame_at(kWithout, 4)->saved.empty());
  const auto pushed = frame_at(kWith, 1);
  CHECK_FALSE(pushed->is_from_frame_pointer);
  CHECK(pushed->bytes == 16);
}

// sub rsp, 0x28; mov [rsp], r14; call; mov r14, [rsp]; add rsp, 0x28; ret
const std::initializer_list<int> kReturns = {0x48, 0x83, 0xec, 0x28, 0x4c, 0x89, 0x34, 0x24,
                                             0xe8, 0,    0,    0,    0,    0x4c, 0x8b, 0x34,
                                             0x24, 0x48, 0x83, 0xc4, 0x28, 0xc3, 0x90};
// push rbp; mov rbp, rsp; push r15; sub rsp, 8; call; lea rsp, [rbp-8]; pop r15; pop rbp; ret
const std::initializer_list<int> kPops = {0x55, 0x48, 0x8b, 0xec, 0x41, 0x57, 0x48, 0x83,
                                          0xec, 0x08, 0xe8, 0,    0,    0,    0,    0x48,
                                          0x8d, 0x65, 0xf8, 0x41, 0x5f, 0x5d, 0xc3};
// push rbp; mov rbp, rsp; sub rsp, 0x50; mov [rbp-0x18], r12; mov r12, [rbp-0x18]; leave; ret
const std::initializer_list<int> kLeaves = {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x50, 0x4c,
                                            0x89, 0x65, 0xe8, 0x4c, 0x8b, 0x65, 0xe8, 0xc9, 0xc3};

TEST_CASE("a function that returns has the rest of its frame") {
  SUBCASE("all of it, before it has left any") {
    for (const std::uint64_t pc : {std::uint64_t{13}, std::uint64_t{17}}) {
      const auto frame = frame_at(kReturns, pc);
      REQUIRE(frame);
      CHECK_FALSE(frame->is_from_frame_pointer);
      CHECK(frame->bytes == 0x30);
    }
    CHECK(saved(*frame_at(kReturns, 13)) == Saved{{14, 0x30}});
    CHECK(saved(*frame_at(kReturns, 17)).empty());
  }
  SUBCASE("only the return address at the end") {
    for (const auto& [code, pc] : {std::pair{kReturns, 21}, {kPops, 22}, {kLeaves, 17}}) {
      const auto frame = frame_at(code, static_cast<std::uint64_t>(pc));
      REQUIRE(frame);
      CHECK_FALSE(frame->is_from_frame_pointer);
      CHECK(frame->bytes == 8);
      CHECK(frame->saved.empty());
    }
  }
  SUBCASE("what it will pop") {
    const auto before = frame_at(kPops, 15);
    REQUIRE(before);
    CHECK(before->is_from_frame_pointer);
    CHECK(before->bytes == 16);
    CHECK(saved(*before) == Saved{{15, 24}, {6, 16}});
    const auto after = frame_at(kPops, 21);
    REQUIRE(after);
    CHECK_FALSE(after->is_from_frame_pointer);
    CHECK(after->bytes == 16);
    CHECK(saved(*after) == Saved{{6, 16}});
  }
  SUBCASE("what its frame pointer leads to") {
    const auto frame = frame_at(kLeaves, 12);
    REQUIRE(frame);
    CHECK(frame->is_from_frame_pointer);
    CHECK(frame->bytes == 16);
    CHECK(saved(*frame) == Saved{{12, 40}, {6, 16}});
  }
}

TEST_CASE("a trampoline returns to the caller of what called it") {
  // pop r11; push rbp; mov rbp, rsp; sub rsp, 0x1e0
  const auto frame =
      frame_at({0x41, 0x5b, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x81, 0xec, 0xe0, 0x01, 0, 0}, 0x60);
  REQUIRE(frame);
  CHECK(frame->is_from_frame_pointer);
  CHECK(frame->bytes == 16);
}

TEST_CASE("a function that does something else to the stack pointer has no known frame") {
  CHECK_FALSE(frame_at({0x48, 0x83, 0xe4, 0xf0, 0xe8, 0, 0, 0, 0}, 0x60));  // and rsp, -16
  CHECK_FALSE(frame_at({0x5b, 0xe8, 0, 0, 0, 0}, 0x60));                    // pop rbx
  CHECK_FALSE(generated_frame(EM_AARCH64, {{kStart, 0x100}, "method", {}}, kStart));
}

}  // namespace
}  // namespace heapattach::unwind
