#include "symbols/unwind/signal_stacks.h"

#include <algorithm>
#include <cstring>

#include "attach/base/word.h"
#include "symbols/unwind/arch/signal_return.h"

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostCandidates = 4096;

// Whether the thread is on the stack with which it was created, at whose end its own data is.
bool is_on_own_stack(const Registers& registers, const Mapping& mapping) {
  return mapping.path == "[stack]" || mapping.range.contains(registers.thread_pointer);
}

class Search {
 public:
  Search(const MemoryMap& map, const MemoryReader& memory) : map_(map), memory_(memory) {}

  void search(RemoteAddr stack_pointer, const Mapping& mapping, std::vector<Range>& found) const {
    const std::uint64_t bytes = std::min(mapping.range.end() - stack_pointer, kMostSignalStack);
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
      const auto interrupted =
          interrupted_at(memory_, RemoteAddr{word}, stack_pointer + at, mapping.range);
      if (interrupted) add_stack(*interrupted, mapping, found);
    }
  }

 private:
  void add_stack(const Interrupted& code, const Mapping& from, std::vector<Range>& found) const {
    const std::uint64_t pointer = code.stack_pointer;
    const Mapping* const to = map_.find(RemoteAddr{pointer});
    const bool is_new = to != nullptr && to->readable && to->writable &&
                        (to != &from || pointer < code.saved.value);
    if (!is_new) return;
    const std::uint64_t below = std::min(pointer, code.bytes_below);
    const RemoteAddr low{std::max(to->range.start.value, pointer - below)};
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
