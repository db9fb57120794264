#include <cstring>
#include <initializer_list>

#include <elf.h>

#include "symbols/unwind/arch/x86_64.h"

// The stubs that linkers write for x86-64, each 8 or 16 bytes:
//
//   [f3 0f 1e fa]  [f2] ff 25 <32 bits>    (endbr64;) jmp *word(%rip)
//   [f3 0f 1e fa]  68 <32 bits> [f2] e9 …  (endbr64;) push $number; jmp to the first stub
//
// The first stub of .plt, which the others jump to, belongs to no function.

namespace heapattach::unwind::x86_64 {

namespace {

bool takes(std::span<const std::byte>& code, std::initializer_list<unsigned> bytes) {
  if (code.size() < bytes.size()) return false;
  std::size_t i = 0;
  for (const unsigned byte : bytes) {
    if (std::to_integer<unsigned>(code[i++]) != byte) return false;
  }
  code = code.subspan(bytes.size());
  return true;
}

std::optional<std::int32_t> take_number(std::span<const std::byte>& code) {
  std::int32_t number = 0;
  if (code.size() < sizeof number) return {};
  std::memcpy(&number, code.data(), sizeof number);
  code = code.subspan(sizeof number);
  return number;
}

}  // namespace

bool is_word_of_stub(std::uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

std::uint64_t stub_bytes(std::string_view section, std::uint64_t entry_bytes) {
  return section == ".plt.got" && entry_bytes != 16 ? 8 : 16;
}

StubTarget stub_target(std::span<const std::byte> code, std::uint64_t /*at*/) {
  const std::byte* const start = code.data();
  takes(code, {0xf3, 0x0f, 0x1e, 0xfa});
  if (takes(code, {0x68})) {
    const auto number = take_number(code);
    if (!number || *number < 0) return {};
    return {.number = static_cast<std::size_t>(*number), .word = {}};
  }
  takes(code, {0xf2});
  if (!takes(code, {0xff, 0x25})) return {};
  const auto distance = take_number(code);
  if (!distance) return {};
  return {.number = {}, .word = (code.data() - start) + std::int64_t{*distance}};
}

}  // namespace heapattach::unwind::x86_64
