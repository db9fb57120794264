#include "symbols/guile/values.h"

namespace heapattach::guile {

namespace {

constexpr std::uint64_t kWide = 0x400;  // a string buffer of 32-bit characters
constexpr std::uint64_t kTextAt = 16;   // the offset of the text in a string buffer
constexpr std::uint64_t kMostCharacters = 256;
constexpr std::uint64_t kMostConstants = 64;  // there are about 20

bool is_constant(std::uint64_t word) {
  const std::uint64_t rest = word >> 8;
  switch (word & 0xff) {
    case 0x04: return rest < kMostConstants;
    case 0x0c: return rest <= 0x10ffff;
    default: return false;
  }
}

std::string buffer_text(const runtimes::HeapView& view,
                        std::uint64_t buffer,
                        std::uint64_t first,
                        std::uint64_t count) {
  const auto tag = view.word(buffer);
  const auto size = view.word(buffer + 8);
  if (!tag || !size || (*tag & kTagMask) != kStringBuffer) return {};
  if (count > kMostCharacters || first > *size || count > *size - first) return {};
  const std::uint64_t width = (*tag & kWide) != 0 ? 4 : 1;
  return view.text(buffer + kTextAt + first * width, count, width);
}

}  // namespace

bool is_value(const runtimes::HeapView& view, std::uint64_t word) {
  if ((word & 3) == 2) return true;
  if ((word & 7) == 4) return is_constant(word);
  return word != 0 && (word & 7) == 0 && view.may_refer_to(word);
}

std::string text_of(const runtimes::HeapView& view, std::uint64_t value) {
  if (value == 0 || value % 8 != 0) return {};
  const auto tag = view.word(value);
  const auto buffer = view.word(value + 8);
  if (!tag || !buffer) return {};
  if ((*tag & kTagMask) == kSymbol) {
    const auto size = view.word(*buffer + 8);
    return size ? buffer_text(view, *buffer, 0, *size) : std::string();
  }
  if ((*tag & kTagMask) != kString) return {};
  const auto first = view.word(value + 16);
  const auto count = view.word(value + 24);
  return first && count ? buffer_text(view, *buffer, *first, *count) : std::string();
}

std::vector<std::uint64_t> list_of(const runtimes::HeapView& view,
                                   std::uint64_t value,
                                   std::uint64_t count) {
  std::vector<std::uint64_t> found;
  while (value != kEmptyList) {
    if (found.size() == count || value == 0 || value % 8 != 0) return {};
    const auto head = view.word(value);
    const auto rest = view.word(value + 8);
    if (!head || !rest || !is_pair_word(*head)) return {};
    found.push_back(*head);
    value = *rest;
  }
  if (found.size() != count) found.clear();
  return found;
}

}  // namespace heapattach::guile
