#include "symbols/unwind/signal_stacks.h"

#include <algorithm>
#include <cstring>

#include "attach/arch/red_zone.h"
#include "attach/base/word.h"
#include "symbols/unwind/arch/aarch64.h"
#include "symbols/unwind/arch/signal_return.h"

namespace heapattach::unwind {

namespace {

constexpr std::uint64_t kSearched = 64 << 10;  // stacks for handlers are small
constexpr std::size_t kMostCandidates = 4096;

// The thread's own data is at the end of the stack that it was created with.
bool is_on_own_stack(const Registers& registers, const Mapping& mapping) {
  return mapping.path == "[stack]" || mapping.range.contains(registers.thread_pointer);
}

class Search {
 public:
  Search(const MemoryMap& map, const MemoryReader& memory) : map_(map), memory_(memory) {}

  void search(RemoteAddr stack_pointer, const Mapping& mapping, std::vector<Range>& found) const {
    const std::uint64_t bytes = std::min(mapping.range.end() - stack_pointer, kSearched);
    std::vector<std::byte> words(bytes / kWordBytes * kWordBytes);
    const auto read = memory_.read_some(stack_pointer, words);
    if (!read) return;
    std::size_t candidates = 0;
    for (std::size_t at = 0; at + kWordBytes <= *read && candidates < kMostCandidates;
         at += kWordBytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, words.data() + at, sizeof word);
      const Mapping* const code = map_.find(RemoteAddr{word});
      if (code == nullptr || !code->executable) continue;
      ++candidates;
      if (holds(RemoteAddr{word}, kSignalReturn)) {
        add_interrupted(stack_pointer + at + kWordBytes, mapping, found);
      } else if (holds(RemoteAddr{word}, aarch64::kSignalReturn)) {
        add_interrupted_on_aarch64(stack_pointer + at, mapping, found);
      }
    }
  }

 private:
  template <std::size_t kBytes>
  [[nodiscard]] bool holds(RemoteAddr at, const std::array<std::byte, kBytes>& wanted) const {
    std::array<std::byte, kBytes> code{};
    return memory_.read(at, code).has_value() && code == wanted;
  }
  [[nodiscard]] std::uint64_t word_at(RemoteAddr at) const {
    const auto word = memory_.read_as<std::uint64_t>(at);
    return word ? *word : 0;
  }
  void add_interrupted(RemoteAddr saved, const Mapping& from, std::vector<Range>& found) const {
    add_stack(word_at(saved + kSavedStackPointerAt), saved, from, kRedZoneBytes, found);
  }

  // On aarch64, the word is the second one of a handler's frame. The first one is the address of a
  // frame that the kernel has made above its data, with the interrupted x29 and x30. That tells
  // where its data are, which begin in one of many places below: they have the same two words.
  void add_interrupted_on_aarch64(RemoteAddr word,
                                  const Mapping& from,
                                  std::vector<Range>& found) const {
    constexpr std::uint64_t kFrame = 29 * kWordBytes;
    constexpr std::uint64_t kStackPointer = 31 * kWordBytes;
    constexpr std::uint64_t kAligned = 16;
    const RemoteAddr made{word_at(word - kWordBytes)};
    if (made <= word || !from.range.contains(made) || made - word > kSearched) return;
    const std::uint64_t frame = word_at(made);
    const std::uint64_t link = word_at(made + kWordBytes);
    RemoteAddr data{(word.value + kAligned - 1) & ~(kAligned - 1)};
    for (; data < made; data = data + kAligned) {
      const RemoteAddr saved = data + aarch64::kSavedAt;
      const bool is_it =
          word_at(saved + kFrame) == frame && word_at(saved + kFrame + kWordBytes) == link;
      if (is_it) return add_stack(word_at(saved + kStackPointer), data, from, 0, found);
    }
  }

  void add_stack(std::uint64_t pointer,
                 RemoteAddr saved,
                 const Mapping& from,
                 std::uint64_t red_zone,
                 std::vector<Range>& found) const {
    const Mapping* const to = map_.find(RemoteAddr{pointer});
    const bool is_new =
        to != nullptr && to->readable && to->writable && (to != &from || pointer < saved.value);
    if (!is_new) return;
    const RemoteAddr low{std::max(to->range.start.value, pointer - std::min(pointer, red_zone))};
    found.push_back({low, to->range.end() - low});
  }

  const MemoryMap& map_;
  const MemoryReader& memory_;
};

}  // namespace

std::vector<Range> interrupted_stacks(std::span<const FrozenThread> threads,
                                      const MemoryMap& map,
                                      const MemoryReader& memory) {
  std::vector<Range> found;
  const Search search(map, memory);
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) continue;
    const RemoteAddr pointer = thread.registers->stack_pointer;
    const Mapping* const mapping = map.find(pointer);
    if (mapping == nullptr || !mapping->readable) continue;
    if (!is_on_own_stack(*thread.registers, *mapping)) search.search(pointer, *mapping, found);
  }
  return found;
}

}  // namespace heapattach::unwind
