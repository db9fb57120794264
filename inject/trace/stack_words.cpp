#include "inject/trace/stack_words.h"

#include <algorithm>
#include <span>
#include <vector>

#include "attach/arch/red_zone.h"
#include "attach/base/word.h"
#include "attach/stop/kernel_worker.h"

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kMostStack = std::uint64_t{8} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 10;

class Search {
 public:
  Search(const MemoryReader& memory,
         Range hull,
         const std::function<bool(RemoteAddr)>& is_in_question)
      : memory_(memory), hull_(hull), is_in_question_(is_in_question) {}

  [[nodiscard]] bool finds(std::span<const std::uint64_t> words) const {
    return std::ranges::any_of(words, [this](std::uint64_t word) {
      return word - hull_.start.value < hull_.bytes && is_in_question_(RemoteAddr{word});
    });
  }

  [[nodiscard]] bool finds(Range where) {
    for (RemoteAddr at = where.start; at < where.end();) {
      const std::uint64_t bytes = std::min<std::uint64_t>(kPiece, where.end() - at);
      const auto got = memory_.read_some(
          at, std::as_writable_bytes(std::span(words_)).first(static_cast<std::size_t>(bytes)));
      if (!got || *got < kWordBytes) return false;
      if (finds(std::span(words_).first(*got / kWordBytes))) return true;
      at = at + *got / kWordBytes * kWordBytes;
    }
    return false;
  }

 private:
  const MemoryReader& memory_;
  Range hull_;
  const std::function<bool(RemoteAddr)>& is_in_question_;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(kPiece / kWordBytes);
};

}  // namespace

bool is_any_thread_at(const FrozenView& view,
                      const MemoryMap& map,
                      const MemoryReader& memory,
                      Range hull,
                      const std::function<bool(RemoteAddr)>& is_in_question) {
  Search search(memory, hull, is_in_question);
  for (const FrozenThread& thread : view.threads) {
    if (!thread.registers) return true;
    const std::uint64_t at = thread.registers->instruction_pointer.value;
    const RemoteAddr stack = thread.registers->stack_pointer;
    if (is_kernel_worker(*thread.registers)) continue;
    // An address in a register may be about to be called.
    if (search.finds(std::span(&at, 1)) || search.finds(thread.registers->general)) return true;
    const Mapping* const mapping = map.find(stack);
    if (mapping == nullptr) return true;
    const RemoteAddr low = std::max(mapping->range.start, stack - kRedZoneBytes);
    const RemoteAddr begin{(low.value + kWordBytes - 1) & ~(kWordBytes - 1)};
    if (search.finds({begin, std::min(mapping->range.end() - begin, kMostStack)})) return true;
  }
  return false;
}

}  // namespace heapattach::trace
