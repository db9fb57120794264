#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/runtimes/heap_view.h"

// Reads Guile's values one by one. facts.h describes their format.
namespace heapattach::guile {

enum Tag : std::uint64_t {
  kSymbol = 0x05,
  kVariable = 0x07,
  kVector = 0x0d,
  kWeakVector = 0x0f,
  kString = 0x15,
  kNumber = 0x17,
  kHashTable = 0x1d,
  kPointer = 0x1f,
  kFluid = 0x25,
  kStringBuffer = 0x27,
  kDynamicState = 0x2d,
  kFrame = 0x2f,
  kKeyword = 0x35,
  kAtomicBox = 0x37,
  kSyntax = 0x3d,
  kValues = 0x3f,
  kProgram = 0x45,
  kStackCopy = 0x47,
  kByteVector = 0x4d,
  kWeakSet = 0x55,
  kWeakTable = 0x57,
  kArray = 0x5d,
  kBitVector = 0x5f,
  kSmob = 0x77,
  kPort = 0x7d,
};
inline constexpr std::uint64_t kTagMask = 0x7f;
inline constexpr std::uint64_t kEmptyList = 0x304;

// The table of smob types: a name, a size, and six procedures for each.
inline constexpr std::uint64_t kSmobTypes = 256;
inline constexpr std::uint64_t kSmobTypeBytes = 64;
inline constexpr std::uint64_t kSmobMark = 16;

[[nodiscard]] constexpr bool is_pair_word(std::uint64_t first) {
  return (first & 1) == 0;
}
[[nodiscard]] constexpr bool is_struct_word(std::uint64_t first) {
  return (first & 7) == 1;
}

// Whether a word can be a value: a small integer, a character, a constant, or an address.
[[nodiscard]] bool is_value(const runtimes::HeapView& view, std::uint64_t word);

// The text of a symbol or a string, in UTF-8; empty if the value is neither, or if the text is
// longer than 256 characters.
[[nodiscard]] std::string text_of(const runtimes::HeapView& view, std::uint64_t value);

// The values in a list of exactly `count` elements; empty if the value is not such a list.
[[nodiscard]] std::vector<std::uint64_t> list_of(const runtimes::HeapView& view,
                                                 std::uint64_t value,
                                                 std::uint64_t count);

}  // namespace heapattach::guile
