#include "symbols/mono/words.h"

#include <string_view>

#include "symbols/text/utf8.h"

namespace heapattach::mono {

namespace {

constexpr std::size_t kMostTextBytes = 512;
constexpr std::uint64_t kWithinWord = 7;

bool is_safe_to_show(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (!step.is_valid || is_unsafe_to_show(step.code)) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> number_at(const ReadWord& read, std::uint64_t at, unsigned bytes) {
  const std::uint64_t shift = at & kWithinWord;
  const auto low = read(at - shift);
  if (!low) return std::nullopt;
  std::uint64_t value = *low >> shift * 8;
  if (shift + bytes > 8) {
    const auto high = read(at - shift + 8);
    if (!high) return std::nullopt;
    value |= *high << (8 - shift) * 8;
  }
  return bytes == 8 ? value : value & ((std::uint64_t{1} << bytes * 8) - 1);
}

std::string text_at(const ReadWord& read, std::uint64_t at) {
  std::string found;
  while (at != 0 && found.size() < kMostTextBytes) {
    const auto aligned = read(at & ~kWithinWord);
    if (!aligned) return {};
    for (std::uint64_t i = at & kWithinWord; i < 8; ++i, ++at) {
      const char letter = static_cast<char>(*aligned >> i * 8 & 0xff);
      if (letter == '\0') return is_safe_to_show(found) ? found : std::string();
      found += letter;
    }
  }
  return {};
}

}  // namespace heapattach::mono
