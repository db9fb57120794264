#include "inject/trace/stack_words.h"

#include <algorithm>
#include <vector>

#include "attach/x86_64.h"

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kMostStack = std::uint64_t{8} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::uint64_t kRedZone = 128;

bool has_word(Range where,
              const MemoryReader& memory,
              const std::function<bool(RemoteAddr)>& is_in_question) {
  std::vector<std::uint64_t> words(kPiece / kWordBytes);
  for (RemoteAddr at = where.start; at < where.end();) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kPiece, where.end() - at);
    const auto got = memory.read_some(
        at, std::as_writable_bytes(std::span(words)).first(static_cast<std::size_t>(bytes)));
    if (!got || *got < kWordBytes) return false;
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(*got / kWordBytes);
    if (std::any_of(words.begin(), end,
                    [&](std::uint64_t word) { return is_in_question(RemoteAddr{word}); })) {
      return true;
    }
    at = at + *got / kWordBytes * kWordBytes;
  }
  return false;
}

}  // namespace

bool is_any_thread_at(const FrozenView& view,
                      const MemoryMap& map,
                      const MemoryReader& memory,
                      const std::function<bool(RemoteAddr)>& is_in_question) {
  for (const FrozenThread& thread : view.threads) {
    if (!thread.registers) return true;
    if (is_in_question(thread.registers->instruction_pointer)) return true;
    // About to be called.
    const auto& general = thread.registers->general;
    if (std::any_of(general.begin(), general.end(),
                    [&](std::uint64_t word) { return is_in_question(RemoteAddr{word}); })) {
      return true;
    }
    const RemoteAddr stack = thread.registers->stack_pointer;
    const Mapping* const mapping = map.find(stack);
    if (mapping == nullptr) return true;
    const RemoteAddr low = std::max(mapping->range.start, stack - kRedZone);
    const RemoteAddr begin{(low.value + kWordBytes - 1) & ~(kWordBytes - 1)};
    const std::uint64_t bytes = std::min(mapping->range.end() - begin, kMostStack);
    if (has_word({begin, bytes}, memory, is_in_question)) return true;
  }
  return false;
}

}  // namespace heapattach::trace
