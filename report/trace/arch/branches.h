#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <elf.h>

#include "attach/arch/processors.h"
#include "symbols/code/disassembler.h"

namespace heapattach::trace {

// Whether find_musl() can read the code of this processor.
inline constexpr bool kReadsMusl = kOwnProcessor == EM_X86_64;

// The destinations of the direct calls and unconditional jumps in `code`, which is at `at`. With
// `only_jumps`, calls are left out.
[[nodiscard]] std::vector<RemoteAddr> branches_of(const Disassembler& disassembler,
                                                  std::span<const std::byte> code,
                                                  RemoteAddr at,
                                                  bool only_jumps);

// The word through which the linker's stub at `at` jumps; none if the code there, `code`, is not a
// stub.
[[nodiscard]] std::optional<RemoteAddr> word_of_stub(const Disassembler& disassembler,
                                                     std::span<const std::byte> code,
                                                     RemoteAddr at);

}  // namespace heapattach::trace
