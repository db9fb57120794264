#include "report/similar_names.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace heapattach {

std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string_view most_similar(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kLongest = 40;  // no name of ours is longer
  if (word.empty() || word.size() > kLongest) return {};
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t letters = letters_between(word, name);
    if (letters < fewest) {
      fewest = letters;
      best = name;
    }
  }
  if (!best.empty() || word.size() < 3) return best;
  // "--suspect", "--max": the beginning of one name alone.
  for (const std::string_view name : names) {
    if (!name.starts_with(word)) continue;
    if (!best.empty()) return {};
    best = name;
  }
  return best;
}

}  // namespace heapattach
