#include "inject/trace/arch/move_entry.h"

#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "attach/arch/processors.h"
#include "inject/trace/blob.h"

namespace heapattach::trace {

namespace {

constexpr RemoteAddr kEntry{0x10000};
constexpr RemoteAddr kTo{0x90000};

std::vector<std::byte> code(std::initializer_list<int> bytes) {
  std::vector<std::byte> made;
  for (const int byte : bytes) made.push_back(static_cast<std::byte>(byte));
  // Adds the rest of a function, which returns.
  for (int i = 0; i < 8; ++i) made.push_back(std::byte{0x90});
  made.push_back(std::byte{0xc3});
  return made;
}

Result<MovedEntry> moved(std::initializer_list<int> bytes) {
  const auto disassembler = Disassembler::open(EM_X86_64);
  REQUIRE(disassembler);
  return move_entry(*disassembler, code(bytes), kEntry, kTo);
}

// The destination of the 32-bit distance at offset `at` of the moved code.
std::uint64_t goal(const MovedEntry& entry, std::size_t at, std::size_t next) {
  std::int32_t distance = 0;
  REQUIRE(at + sizeof distance <= entry.code.size());
  std::memcpy(&distance, entry.code.data() + at, sizeof distance);
  return kTo.value + next + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace

TEST_CASE("position-independent first instructions move unchanged") {
  // push r15; push r14; mov esi, 1
  const auto entry = moved({0x41, 0x57, 0x41, 0x56, 0xbe, 1, 0, 0, 0});
  REQUIRE(entry);
  CHECK(entry->bytes == 9);
  CHECK(entry->code.size() == 9 + 5);
  CHECK(entry->code[0] == std::byte{0x41});
  CHECK(goal(*entry, 10, 14) == kEntry.value + 9);
  CHECK(entry->steps.size() == 3);
}

TEST_CASE("an address relative to the instruction stays the same address") {
  // mov rax, [rip + 0x100]
  const auto entry = moved({0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00});
  REQUIRE(entry);
  CHECK(entry->bytes == 7);
  CHECK(goal(*entry, 3, 7) == kEntry.value + 7 + 0x100);
}

TEST_CASE("a short conditional jump becomes a long one with the same target") {
  // test rdi, rdi; je +0x20
  const auto entry = moved({0x48, 0x85, 0xff, 0x74, 0x20});
  REQUIRE(entry);
  CHECK(entry->code[3] == std::byte{0x0f});
  CHECK(entry->code[4] == std::byte{0x84});
  CHECK(goal(*entry, 5, 9) == kEntry.value + 5 + 0x20);
  CHECK(goal(*entry, 10, 14) == kEntry.value + 5);
}

TEST_CASE("a long conditional jump keeps its target") {
  // test rdi, rdi; je +0x1f7
  const auto entry = moved({0x48, 0x85, 0xff, 0x0f, 0x84, 0xf7, 0x01, 0x00, 0x00});
  REQUIRE(entry);
  CHECK(entry->bytes == 9);
  CHECK(goal(*entry, 5, 9) == kEntry.value + 9 + 0x1f7);
}

TEST_CASE("after a jump that is always taken nothing follows") {
  // jmp +0x1000
  const auto entry = moved({0xe9, 0x00, 0x10, 0x00, 0x00});
  REQUIRE(entry);
  CHECK(entry->code.size() == 5);
  CHECK(goal(*entry, 1, 5) == kEntry.value + 5 + 0x1000);
  // xor eax, eax; jmp +0x10 (short)
  const auto second = moved({0x31, 0xc0, 0x90, 0xeb, 0x10});
  REQUIRE(second);
  CHECK(goal(*second, 4, 8) == kEntry.value + 5 + 0x10);
}

TEST_CASE("instructions that would not do the same elsewhere are refused") {
  const auto why = [](std::initializer_list<int> bytes) {
    const auto entry = moved(bytes);
    REQUIRE(!entry);
    CHECK(entry.error().kind == ErrorKind::Impossible);
    return entry.error().message();
  };
  CHECK(why({0xe8, 0, 0, 0, 0}).find("is a call") != std::string::npos);
  CHECK(why({0x31, 0xc0, 0xc3}).find("ends the function") != std::string::npos);
  CHECK(why({0xff, 0xe0, 0x90, 0x90, 0x90}).find("indirect jump") != std::string::npos);
  CHECK(why({0xe2, 0x10, 0x90, 0x90, 0x90}).find("cannot be moved") != std::string::npos);
  CHECK(why({0xe3, 0x10, 0x90, 0x90, 0x90}).find("cannot be moved") != std::string::npos);
  CHECK(why({0xcc, 0x90, 0x90, 0x90, 0x90}).find("ends the function") != std::string::npos);
  CHECK(why({0x06, 0x90, 0x90, 0x90, 0x90}).find("is unknown") != std::string::npos);
}

TEST_CASE("a function that jumps between its first instructions is refused") {
  // push rbp; mov rbp, rsp; nop; dec edi; jne to the mov
  const auto entry = moved({0x55, 0x48, 0x89, 0xe5, 0x90, 0xff, 0xcf, 0x75, 0xf8});
  REQUIRE(!entry);
  CHECK(entry.error().message().find("jumps between") != std::string::npos);
  // A branch to the entry itself is fine: it reaches the jump.
  CHECK(moved({0x55, 0x48, 0x89, 0xe5, 0x90, 0xff, 0xcf, 0x75, 0xf7}));
  // je into the moved bytes themselves
  CHECK(!moved({0x90, 0x48, 0x85, 0xff, 0x74, 0xfb}));
}

TEST_CASE("a target out of reach is refused") {
  const auto disassembler = Disassembler::open(EM_X86_64);
  REQUIRE(disassembler);
  CHECK(!move_entry(*disassembler, code({0x48, 0x8b, 0x05, 0, 1, 0, 0}), kEntry,
                    RemoteAddr{0x200000000}));
}

}  // namespace heapattach::trace
