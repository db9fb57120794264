#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attach/base/remote_addr.h"

namespace heapattach::heap {

// 64 words of an object, the lowest bit first.
struct ExtendedBitmap {
  std::uint64_t bits = 0;
  bool goes_on = false;  // the next entry describes the next 64 words
};

// The words that are scanned from some position on: the first `words` words, or those of
// them selected by a bitmap.
struct WordPattern {
  std::uint64_t words = 0;
  std::uint64_t bitmap = 0;  // highest bit first; 0: no bitmap
  std::span<const ExtendedBitmap> long_bitmap;
};

// Elements of one pattern within an object, one after the other.
struct ScannedElements {
  std::uint64_t first = 0;   // in words from the start of the object
  std::uint64_t stride = 1;  // in words, not 0
  std::uint64_t count = 0;
  WordPattern pattern;
};

// The words of one object that are scanned, by its descriptor.
struct ScannedWords {
  const std::byte* data = nullptr;
  std::uint64_t count = 0;  // the number of words from the object's first
  RemoteAddr address;
  WordPattern pattern;                    // of the object, unless it is an array
  std::vector<ScannedElements> elements;  // of an array
  std::span<const Range> hidden;          // words that give no edges, and overlap the object
  // The descriptor could not be followed, so all words of the object are scanned.
  bool is_guess = false;

  void scan_all() {
    pattern = {count, 0, {}};
    elements.clear();
  }
};

template <class Visit>
void for_each_place(const WordPattern& pattern,
                    std::uint64_t base,
                    std::uint64_t from,
                    std::uint64_t to,
                    const Visit& visit) {
  to = std::min(to, base + pattern.words);
  for (std::uint64_t i = std::max(base, from); i < to; ++i) {
    const std::uint64_t word = i - base;
    if (pattern.bitmap != 0 && (pattern.bitmap << word) >> 63 == 0) continue;
    if (!pattern.long_bitmap.empty() &&
        (pattern.long_bitmap[word / 64].bits >> (word % 64) & 1) == 0) {
      continue;
    }
    visit(i);
  }
}

// Calls visit(offset_words, word) for each scanned word at an offset in [from, to), in order,
// except for arrays whose elements overlap.
template <class Visit>
void for_each_word(const ScannedWords& words,
                   std::uint64_t from,
                   std::uint64_t to,
                   const Visit& visit) {
  to = std::min(to, words.count);
  const auto visit_place = [&](std::uint64_t i) {
    const RemoteAddr at = words.address + i * 8;
    if (!words.hidden.empty() &&
        std::any_of(words.hidden.begin(), words.hidden.end(),
                    [&](const Range& range) { return range.contains(at); })) {
      return;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, words.data + i * 8, sizeof word);
    visit(i, word);
  };
  if (words.elements.empty()) {
    for_each_place(words.pattern, 0, from, to, visit_place);
    return;
  }
  for (const ScannedElements& part : words.elements) {
    const std::uint64_t reach = part.first + part.pattern.words;
    std::uint64_t k = from > reach ? (from - reach) / part.stride : 0;
    for (; k < part.count && part.first + k * part.stride < to; ++k) {
      for_each_place(part.pattern, part.first + k * part.stride, from, to, visit_place);
    }
  }
}

}  // namespace heapattach::heap
