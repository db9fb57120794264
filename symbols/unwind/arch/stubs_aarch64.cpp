#include <elf.h>

#include "symbols/code/arch/instructions_aarch64.h"
#include "symbols/unwind/arch/aarch64.h"

// The stubs that linkers write for aarch64, each 16 bytes:
//
//   [bti c] adrp x16, page; ldr x17, [x16, #number]; (add x16, …;) br x17
//
// The first 32 bytes of .plt belong to no function.

namespace heapattach::unwind::aarch64 {

using namespace heapattach::aarch64;  // NOLINT(google-build-using-namespace): its instructions

bool is_word_of_stub(std::uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

// With a mark, they may have 24 bytes, which do not divide those before the first one.
std::uint64_t stub_bytes(std::string_view /*section*/, std::uint64_t entry_bytes) {
  return entry_bytes == 24 ? 0 : 16;
}

StubTarget stub_target(std::span<const std::byte> code, std::uint64_t at) {
  constexpr std::uint32_t kLoad = 0xf9400211;  // ldr x17, [x16, #0]
  constexpr unsigned kX16 = 16;
  std::size_t first = 0;
  if (is_landing_mark(word_at(code, 0))) first = 1;
  const std::uint32_t computes = word_at(code, first);
  const std::uint32_t loads = word_at(code, first + 1);
  const auto page = page_of(computes, at + first * kInstructionBytes);
  if (!page || (computes & 31U) != kX16 || (loads & 0xffc003ffU) != kLoad) return {};
  const std::uint64_t word = *page + (loads >> 10U & 0xfffU) * 8;
  return {.number = {}, .word = static_cast<std::int64_t>(word - at)};
}

}  // namespace heapattach::unwind::aarch64
