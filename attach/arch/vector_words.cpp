#include "attach/arch/vector_words.h"

#include <algorithm>
#include <cstring>

namespace heapattach {

namespace {

// The words from `from` to `end` that are not 0.
void add_words(std::span<const std::byte> saved,
               std::size_t from,
               std::size_t end,
               std::vector<std::uint64_t>& words) {
  end = std::min(end, saved.size());
  for (std::size_t at = from; at + sizeof(std::uint64_t) <= end; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, saved.data() + at, sizeof word);
    if (word != 0) words.push_back(word);
  }
}

}  // namespace

std::vector<std::uint64_t> words_of_xsave(std::span<const std::byte> saved) {
  constexpr std::size_t kControlEnd = 32;     // FCW to MXCSR
  constexpr std::size_t kRegistersEnd = 416;  // st0 to st7, xmm0 to xmm15
  std::vector<std::uint64_t> words;
  add_words(saved, kControlEnd, kRegistersEnd, words);
  add_words(saved, kLeastXsaveBytes, kMostXsaveBytes, words);  // after FXSAVE's area and a header
  return words;
}

std::vector<std::uint64_t> words_of_fpsimd(std::span<const std::byte> saved) {
  constexpr std::size_t kBytes = std::size_t{32} * 16;
  std::vector<std::uint64_t> words;
  add_words(saved, 0, kBytes, words);
  return words;
}

std::vector<std::uint64_t> words_of_sve(std::span<const std::byte> saved) {
  constexpr std::size_t kLengthAt = 8;
  constexpr std::size_t kRegisters = 32;
  std::uint16_t length = 0;
  if (saved.size() < kSveHeaderBytes) return {};
  std::memcpy(&length, saved.data() + kLengthAt, sizeof length);
  if (!has_sve(saved)) return words_of_fpsimd(saved.subspan(kSveHeaderBytes));
  std::vector<std::uint64_t> words;
  add_words(saved, kSveHeaderBytes, kSveHeaderBytes + kRegisters * length, words);
  return words;
}

bool has_sve(std::span<const std::byte> saved) {
  constexpr std::size_t kFlagsAt = 12;
  constexpr std::uint16_t kHasSve = 1;
  std::uint16_t flags = 0;
  if (saved.size() < kSveHeaderBytes) return false;
  std::memcpy(&flags, saved.data() + kFlagsAt, sizeof flags);
  return (flags & kHasSve) != 0;
}

}  // namespace heapattach
