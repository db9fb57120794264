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
