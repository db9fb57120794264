#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "symbols/elf/companions.h"

// The input of fuzz_split is two files in one: a byte for the kind, the size of the second file,
// the second file, and the program that it belongs to.
namespace heapattach::fuzz {

struct SplitInput {
  Companion::Kind kind = Companion::Kind::Split;
  std::span<const std::byte> beside;
  std::span<const std::byte> program;
};

inline std::optional<SplitInput> split_input_in(std::span<const std::byte> bytes) {
  std::uint32_t size = 0;
  if (bytes.size() < 1 + sizeof size) return {};
  std::memcpy(&size, bytes.data() + 1, sizeof size);
  const auto files = bytes.subspan(1 + sizeof size);
  if (size > files.size()) return {};
  const bool is_split = (std::to_integer<unsigned>(bytes[0]) & 1U) == 0;
  return SplitInput{is_split ? Companion::Kind::Split : Companion::Kind::Supplement,
                    files.first(size), files.subspan(size)};
}

inline std::vector<std::byte> to_bytes(const SplitInput& input) {
  std::vector<std::byte> bytes;
  bytes.push_back(std::byte{input.kind == Companion::Kind::Supplement});
  const auto size = static_cast<std::uint32_t>(input.beside.size());
  const auto words = std::as_bytes(std::span(&size, 1));
  for (const auto part : {words, input.beside, input.program}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

}  // namespace heapattach::fuzz
