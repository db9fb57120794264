#include "symbols/ecl/environments.h"

#include <algorithm>
#include <optional>

#include "attach/base/page.h"
#include "symbols/ecl/types.h"
#include "symbols/runtimes/heap_view.h"

namespace heapattach::ecl {

namespace {

constexpr std::size_t kEnvironmentWord = 4;  // the word of a process with its environment

std::vector<std::uint64_t> read_words(RemoteAddr at,
                                      std::uint64_t bytes,
                                      const MemoryReader& memory) {
  std::vector<std::uint64_t> words(bytes / 8);
  if (!memory.read(at, std::as_writable_bytes(std::span(words)))) words.clear();
  return words;
}

class Finder {
 public:
  Finder(std::span<const heap::Block> blocks, const MemoryReader& memory)
      : blocks_(blocks), memory_(memory) {}

  // The environment of the process at `process`; nothing if it does not point back.
  [[nodiscard]] std::optional<Environment> of(std::uint64_t process, std::uint64_t at) const {
    if (at == 0 || at % 8 != 0) return std::nullopt;
    const std::uint64_t bytes = kLeastPageBytes - at % kLeastPageBytes;
    const auto words = read_words(RemoteAddr{at}, bytes, memory_);
    if (std::find(words.begin(), words.end(), process) == words.end()) return std::nullopt;
    Environment found{{RemoteAddr{at}, bytes}, {}};
    for (std::size_t i = 2; i + 3 <= words.size(); ++i) {
      if (const auto stack = stack_at(std::span(words).subspan(i - 2, 5))) {
        found.stacks.push_back(*stack);
      }
    }
    return found;
  }

 private:
  // The size of the atomic object that begins at `at`; 0 if there is none.
  [[nodiscard]] std::uint64_t atomic_bytes(std::uint64_t at) const {
    const auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), RemoteAddr{at},
        [](RemoteAddr word, const heap::Block& block) { return word < block.start; });
    if (after == blocks_.begin()) return 0;
    const heap::Block& block = *(after - 1);
    const std::uint64_t offset = at - block.start.value;
    const bool is_start = block.object_bytes != 0 && offset % block.object_bytes == 0 &&
                          offset / block.object_bytes < block.objects;
    return is_start && block.is_atomic() ? block.object_bytes : 0;
  }

  // Returns the used part of a stack with these words: capacity, limit, start and top. The top of
  // the Lisp stack, whose elements are words, points after the last used element. The top of any
  // other stack points to that element.
  [[nodiscard]] std::optional<Range> stack_at(std::span<const std::uint64_t> words) const {
    const std::uint64_t start = words[2];
    const std::uint64_t top = words[3];
    const std::uint64_t limit = words[4];
    if (start == 0 || start > top || top > limit || limit == start) return std::nullopt;
    const std::uint64_t bytes = atomic_bytes(start);
    if (limit - start > bytes || words[0] == 0 || words[0] > bytes / 8) return std::nullopt;
    const std::uint64_t element = bytes / words[0];
    const std::uint64_t used = top - start + (element < 16 ? 0 : element / 8 * 8);
    return Range{RemoteAddr{start}, std::min(used, bytes)};
  }

  std::span<const heap::Block> blocks_;
  const MemoryReader& memory_;
};

}  // namespace

std::vector<Environment> environments(const Facts& facts,
                                      std::span<const heap::Block> blocks,
                                      const MemoryReader& memory) {
  std::vector<Environment> found;
  const auto process = static_cast<std::uint8_t>(facts.symbol + kProcess);
  const Finder finder(blocks, memory);
  for (const heap::Block& block : blocks) {
    if (block.is_atomic() || !runtimes::fits(block.object_bytes, facts.size_of(process))) continue;
    const auto words = read_words(block.start, block.objects * block.object_bytes, memory);
    for (std::uint64_t i = 0; i < block.objects && !words.empty(); ++i) {
      const std::size_t first = i * block.object_bytes / 8;
      if ((words[first] & 0xffff'ffff'0000'ffff) != process) continue;
      const std::uint64_t at = block.object(static_cast<std::uint32_t>(i)).value;
      if (auto environment = finder.of(at, words[first + kEnvironmentWord])) {
        found.push_back(std::move(*environment));
      }
    }
  }
  return found;
}

}  // namespace heapattach::ecl
