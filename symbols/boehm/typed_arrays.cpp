#include <algorithm>

#include "attach/arch/addresses.h"
#include "symbols/boehm/heap.h"
#include "symbols/boehm/marking_rules.h"
#include "symbols/heap/heap.h"

// The description of an array's elements (typd_mlc.c, complex_descriptor) is a tree:
//
//   leaf      1 · bytes of an element · how many · a simple descriptor
//   array     2 · how many · the description of one
//   sequence  3 · the description of the first part · the second
//
// The collector puts an entry for each element on its mark stack, or scans the whole array if there
// is no room. A marker's own stack has 4096 entries; only the common one may grow, at a later
// collection and without parallel markers. So an array with more elements is scanned whole.

namespace heapattach::boehm {

namespace {

enum : std::uint64_t { kLeaf = 1, kArray = 2, kSequence = 3 };
constexpr std::uint64_t kMostPieces = 4094;
constexpr int kDeepest = 64;

class ArrayReader {
 public:
  ArrayReader(const heap::Heap& heap, heap::ScannedWords& words)
      : heap_(heap), rules_(rules_of(heap)), words_(words) {}

  bool read(std::uint64_t description) { return add(RemoteAddr{description}, 0); }

 private:
  [[nodiscard]] std::optional<std::uint64_t> word(RemoteAddr at, std::uint64_t index) const {
    if (at.value >= kUsualAddressEnd || at.value % 8 != 0) return std::nullopt;
    return heap_.captured_word(at + index * 8);
  }

  // Describes what begins at `next_`, and moves that to its end. False if it cannot be followed.
  bool add(RemoteAddr at, int depth) {
    if (depth > kDeepest) return false;
    const auto tag = word(at, 0);
    const auto first = word(at, 1);
    const auto second = word(at, 2);
    if (!tag || !first || !second) return false;
    switch (*tag) {
      case kLeaf: return add_leaf(*first, *second, word(at, 3));
      case kArray:
        for (std::uint64_t i = 0; i < *first; ++i) {
          if (!add(RemoteAddr{*second}, depth + 1)) return false;
        }
        return true;
      case kSequence:
        return add(RemoteAddr{*first}, depth + 1) && add(RemoteAddr{*second}, depth + 1);
      default: return false;
    }
  }

  bool add_leaf(std::uint64_t bytes, std::uint64_t count, std::optional<std::uint64_t> descriptor) {
    if (!descriptor || bytes == 0 || bytes % 8 != 0 || count == 0) return false;
    pieces_ += std::min(count, kMostPieces + 1);
    const std::uint64_t left = words_.count - std::min(words_.count, next_);
    if (pieces_ > kMostPieces || bytes / 8 > left || count > left / (bytes / 8)) return false;
    const auto pattern = rules_.pattern_of(*descriptor);
    if (!pattern) return false;
    words_.elements.push_back({next_, bytes / 8, count, *pattern});
    next_ += count * (bytes / 8);
    return true;
  }

  const heap::Heap& heap_;
  const MarkingRules& rules_;
  heap::ScannedWords& words_;
  std::uint64_t next_ = 0;
  std::uint64_t pieces_ = 0;
};

}  // namespace

bool follow_array(const heap::Heap& heap, std::uint64_t description, heap::ScannedWords& words) {
  if (!ArrayReader(heap, words).read(description)) {
    words.elements.clear();
    return false;
  }
  // The last word itself references the description, which is retained.
  words.elements.push_back({words.count - 1, 1, 1, {1, 0, {}}});
  return true;
}

}  // namespace heapattach::boehm
