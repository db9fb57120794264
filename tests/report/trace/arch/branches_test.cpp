#include "report/trace/arch/branches.h"

#include <cstring>

#include <doctest/doctest.h>

#include "attach/arch/processors.h"

// An assembler made the bytes.

namespace heapattach::trace {

namespace {

constexpr RemoteAddr kAt{0x10000};

std::vector<std::byte> bytes_of(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.begin(), bytes.size());
  return bytes;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Disassembler disassembler_of(std::uint16_t machine) {
  auto opened = Disassembler::open(machine);
  REQUIRE(opened);
  return std::move(opened).value();
}

using Goals = std::vector<RemoteAddr>;

}  // namespace

TEST_CASE("direct calls and jumps are found in code of either processor") {
  SUBCASE("x86-64") {
    const Disassembler disassembler = disassembler_of(EM_X86_64);
    // call +0x100; je +2; jmp -0x20; jmp rax
    const auto code =
        bytes_of({0xe8, 0, 1, 0, 0, 0x74, 2, 0xe9, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xe0});
    CHECK(branches_of(disassembler, code, kAt, false) ==
          Goals{kAt + 5 + 0x100, RemoteAddr{kAt.value + 12 - 0x20}});
    CHECK(branches_of(disassembler, code, kAt, true) == Goals{RemoteAddr{kAt.value + 12 - 0x20}});
  }
  SUBCASE("aarch64") {
    const Disassembler disassembler = disassembler_of(EM_AARCH64);
    // bl +0x40; cbz x0, +8; an instruction that Capstone 4 does not know; b -8; br x16
    const auto code = bytes_of({0x94000010U, 0xb4000040U, 0x00000000U, 0x17fffffeU, 0xd61f0200U});
    CHECK(branches_of(disassembler, code, kAt, false) == Goals{kAt + 0x40, kAt + 4});
    CHECK(branches_of(disassembler, code, kAt, true) == Goals{kAt + 4});
  }
}

TEST_CASE("a stub jumps through a word, on either processor") {
  SUBCASE("x86-64") {
    const Disassembler disassembler = disassembler_of(EM_X86_64);
    // endbr64; jmp [rip + 0x100]
    const auto stub = bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0, 1, 0, 0});
    CHECK(word_of_stub(disassembler, stub, kAt) == kAt + 10 + 0x100);
    const auto function = bytes_of({0x55, 0x48, 0x89, 0xe5, 0x90, 0xff, 0x25, 0, 1, 0, 0});
    CHECK(word_of_stub(disassembler, function, kAt) == std::nullopt);
  }
  SUBCASE("aarch64") {
    const Disassembler disassembler = disassembler_of(EM_AARCH64);
    // adrp x16, 2 pages onwards; ldr x17, [x16, #0x3b0]; add; br x17
    const auto stub = bytes_of({0xd0000010U, 0xf941da11U, 0x910ec210U, 0xd61f0220U});
    CHECK(word_of_stub(disassembler, stub, kAt) == RemoteAddr{0x12000 + 0x3b0});
    const auto function = bytes_of({0xa9be7bfdU, 0xd0000010U, 0xf941da11U, 0xd61f0220U});
    CHECK(word_of_stub(disassembler, function, kAt) == std::nullopt);
  }
}

}  // namespace heapattach::trace
