#pragma once

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace heapattach {

using Words = std::unordered_set<std::string_view>;

// The words of a text, separated by blanks. The text must outlive them.
[[nodiscard]] inline Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace heapattach
