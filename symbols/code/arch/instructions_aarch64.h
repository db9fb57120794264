#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

// Single instructions of aarch64, which all have four bytes, by their encoding (Arm Architecture
// Reference Manual, C4 and C6).
namespace heapattach::aarch64 {

inline constexpr std::size_t kInstructionBytes = 4;
inline constexpr unsigned kStackPointer = 31;  // or the register that is always 0

// The one at index `at`; 0, which is no instruction, if the code ends before.
[[nodiscard]] inline std::uint32_t word_at(std::span<const std::byte> code, std::size_t at) {
  std::uint32_t word = 0;
  if (code.size() / kInstructionBytes <= at) return 0;
  std::memcpy(&word, code.data() + at * kInstructionBytes, sizeof word);
  return word;
}

// The lowest `bits` of a number, as a number with a sign.
[[nodiscard]] constexpr std::int64_t with_sign(std::uint64_t number, unsigned bits) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>(((number & (2 * top - 1)) ^ top) - top);
}

// bl, b: where it jumps to, from its own address.
[[nodiscard]] constexpr std::optional<std::int64_t> direct_jump(std::uint32_t word, bool is_call) {
  if ((word & 0xfc000000U) != (is_call ? 0x94000000U : 0x14000000U)) return {};
  return with_sign(word, 26) * std::int64_t{kInstructionBytes};
}

// blr, and its forms that authenticate the address.
[[nodiscard]] constexpr bool is_indirect_call(std::uint32_t word) {
  return (word & 0xfffffc1fU) == 0xd63f0000U || (word & 0xfefff800U) == 0xd63f0800U;
}

// adrp: the page that it computes at `at`.
[[nodiscard]] constexpr std::optional<std::uint64_t> page_of(std::uint32_t word, std::uint64_t at) {
  if ((word & 0x9f000000U) != 0x90000000U) return {};
  const std::uint64_t pages = (word >> 5U & 0x7ffffU) << 2U | (word >> 29U & 3U);
  return (at & ~std::uint64_t{0xfff}) + (static_cast<std::uint64_t>(with_sign(pages, 21)) << 12U);
}

// Marks where indirect branches may lead to (bti), and paciasp, which is also one.
[[nodiscard]] constexpr bool is_landing_mark(std::uint32_t word) {
  return (word & 0xffffff3fU) == 0xd503241fU || word == 0xd503233fU || word == 0xd503237fU;
}

}  // namespace heapattach::aarch64
