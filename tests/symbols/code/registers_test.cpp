#include <string>

#include <doctest/doctest.h>
#include <elf.h>

#include "symbols/code/arch/registers_x86_64.h"
#include "symbols/code/disassembler.h"

namespace heapattach::x86_64 {

TEST_CASE("each part of a general register is known by its number and width") {
  const auto is = [](unsigned reg, unsigned number, unsigned bytes, bool is_high = false) {
    const RegisterPart part = part_of(reg);
    return part.number == number && part.bytes == bytes && part.is_high_byte == is_high;
  };
  CHECK(is(X86_REG_RAX, kRax, 8));
  CHECK(is(X86_REG_EDX, kRdx, 4));
  CHECK(is(X86_REG_SI, kRsi, 2));
  CHECK(is(X86_REG_BPL, kRbp, 1));
  CHECK(is(X86_REG_CH, kRcx, 1, true));
  CHECK(is(X86_REG_R15D, 15, 4));
  for (const unsigned reg : {X86_REG_INVALID, X86_REG_XMM0, X86_REG_RIP, X86_REG_FS}) {
    CHECK_FALSE(part_of(reg).is_general());
  }
}

TEST_CASE("functions preserve six registers and the stack pointer, by DWARF's numbers") {
  CHECK(preserved(X86_REG_RBX) == 3);
  CHECK(preserved(X86_REG_EBP) == 6);
  CHECK(preserved(X86_REG_RSP) == 7);
  CHECK(preserved(X86_REG_R12B) == 12);
  CHECK(preserved(X86_REG_R15) == 15);
  for (const unsigned reg : {X86_REG_RAX, X86_REG_EDI, X86_REG_R11, X86_REG_XMM1}) {
    CHECK_FALSE(preserved(reg));
  }
}

TEST_CASE("code of an unknown processor is refused") {
  CHECK(Disassembler::open(EM_X86_64));
  CHECK(Disassembler::open(EM_AARCH64));
  const auto other = Disassembler::open(EM_RISCV);
  REQUIRE_FALSE(other);
  CHECK(other.error().kind == ErrorKind::Unsupported);
}

}  // namespace heapattach::x86_64
