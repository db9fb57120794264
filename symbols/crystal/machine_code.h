#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "symbols/elf/module.h"

namespace heapattach::crystal {

// A piece of a program's code, from its file.
struct Code {
  RemoteAddr start;
  std::span<const std::byte> bytes;
};

// All code of the program.
std::vector<Code> code_of(const Module& program);

inline std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

// The target of the call or jump at position `at`, which has a one-byte opcode.
std::uint64_t target_of_jump(const Code& code, std::size_t at);

// Calls `found(position)` for each position of `opcode` with four bytes after it.
template <class Found>
void each_opcode(const Code& code, std::uint8_t opcode, const Found& found) {
  const auto* const begin = code.bytes.data();
  const auto* const end = begin + code.bytes.size();
  for (const auto* at = begin; at < end; ++at) {
    at = static_cast<const std::byte*>(std::memchr(at, opcode, static_cast<std::size_t>(end - at)));
    if (at == nullptr || end - at < 5) return;
    found(static_cast<std::size_t>(at - begin));
  }
}

}  // namespace heapattach::crystal
