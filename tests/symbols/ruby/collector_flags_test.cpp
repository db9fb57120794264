// Reads the code of rb_during_gc() as compilers have made it, and refuses other code.

#include "symbols/ruby/arch/collector_flags.h"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>

namespace heapattach::ruby {

namespace {

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint32_t>;

CollectorFlags flags_of_x86(const Bytes& code) {
  return find_collector_flags(EM_X86_64, std::as_bytes(std::span(code)));
}

CollectorFlags flags_of_arm(const Words& code) {
  return find_collector_flags(EM_AARCH64, std::as_bytes(std::span(code)));
}

// Debian's Ruby 3.1:
//   mov variable(%rip),%rax; mov (%rax),%rax; mov 0x450(%rax),%rax; movzbl 0x10(%rax),%eax
//   shr $5,%al; and $1,%eax; ret
Bytes x86_code() {
  return {0x48, 0x8b, 0x05, 0xa1, 0xf7, 0x2d, 0x00, 0x48, 0x8b, 0x00, 0x48, 0x8b, 0x80, 0x50,
          0x04, 0x00, 0x00, 0x0f, 0xb6, 0x40, 0x10, 0xc0, 0xe8, 0x05, 0x83, 0xe0, 0x01, 0xc3};
}

//   adrp x0, page; ldr x0, [x0, #3072]; ldr x0, [x0]; ldr x0, [x0, #1128]; ldr x0, [x0, #16]
//   ubfx w0, w0, #5, #1; ret
Words arm_code() {
  return {0xd00015a0, 0xf9460000, 0xf9400000, 0xf9423400, 0xf9400800, 0x53051400, 0xd65f03c0};
}

void check_unknown(const CollectorFlags& found) {
  CHECK(found.object_space == 0);
  CHECK(found.flags == 0);
}

}  // namespace

TEST_CASE("Ruby's own function shows where the flags of its collector are") {
  CHECK(flags_of_x86(x86_code()).object_space == 0x450);
  CHECK(flags_of_x86(x86_code()).flags == 0x10);
  CHECK(flags_of_arm(arm_code()).object_space == 1128);
  CHECK(flags_of_arm(arm_code()).flags == 16);
  Words byte = arm_code();
  byte[4] = 0x39404000;  // ldrb w0, [x0, #16]
  CHECK(flags_of_arm(byte).flags == 16);
  Words half = arm_code();
  half[4] = 0xb9401000;  // ldr w0, [x0, #16]
  CHECK(flags_of_arm(half).flags == 16);
}

TEST_CASE("code of another function shows no flags") {
  Bytes distant = x86_code();
  distant[20] = 0x70;
  check_unknown(flags_of_x86(distant));
  Words far = arm_code();
  far[4] = 0xf9403800;  // ldr x0, [x0, #112]
  check_unknown(flags_of_arm(far));
  Words other = arm_code();
  other[4] = 0xf9400820;  // ldr x0, [x1, #16]
  check_unknown(flags_of_arm(other));
  Words endless = arm_code();
  endless.pop_back();
  check_unknown(flags_of_arm(endless));
  check_unknown(flags_of_arm({}));
  check_unknown(flags_of_x86({}));
}

TEST_CASE("code is read as its own processor's") {
  const Bytes code = x86_code();
  check_unknown(find_collector_flags(EM_AARCH64, std::as_bytes(std::span(code))));
  check_unknown(find_collector_flags(EM_RISCV, std::as_bytes(std::span(code))));
  const Words words = arm_code();
  check_unknown(find_collector_flags(EM_X86_64, std::as_bytes(std::span(words))));
}

}  // namespace heapattach::ruby
