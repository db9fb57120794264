#include "report/collect/stale_words.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace heapattach::snapshot {

std::vector<Range> stale_stacks(const HeldHeap& held) {
  std::vector<Range> stacks;
  for (const FrozenThread& thread : held.freeze.threads) {
    if (!thread.registers) continue;
    const RemoteAddr end{thread.registers->stack_pointer.value & ~std::uint64_t{7}};
    const Mapping* stack = held.map.find(end);
    if (stack != nullptr) stacks.push_back({stack->range.start, end - stack->range.start});
  }
  std::vector<std::uint64_t> sizes;
  for (const heap::RootRange& root : held.roots) {
    const Mapping* stack = held.map.find(root.range.start);
    if (root.kind != heap::RootKind::Fiber || stack == nullptr) continue;
    sizes.push_back(stack->range.bytes);
  }
  std::ranges::sort(sizes);
  for (const Mapping& mapping : held.map.mappings()) {
    const bool is_alike = mapping.is_anonymous() && mapping.readable && mapping.writable &&
                          std::ranges::binary_search(sizes, mapping.range.bytes);
    if (is_alike) stacks.push_back(mapping.range);
  }
  return stacks;
}

StaleWords::StaleWords(const heap::Heap& heap, const heap::LiveSet& found)
    : heap_(heap), found_(found), seen_(heap) {}

void StaleWords::read(const std::vector<Range>& stacks,
                      const MemoryReader& memory,
                      const Deadline& deadline) {
  std::vector<std::byte> copy(kMostBytes);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (deadline.has_passed()) {
      unread_ += stacks.size() - i;
      return;
    }
    const std::uint64_t bytes = std::min(stacks[i].bytes, kMostBytes) & ~std::uint64_t{7};
    const std::span<std::byte> part = std::span(copy).first(bytes);
    // Unreadable memory explains nothing.
    if (!memory.read(stacks[i].end() - bytes, part)) {
      ++unreadable_;
      continue;
    }
    for (std::uint64_t at = 0; at < bytes; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, part.data() + at, sizeof word);
      if (word != 0) add(word);
    }
  }
}

void StaleWords::add(std::uint64_t word) {
  const auto object = heap_.resolve(word, heap::Heap::From::Stack);
  if (!object) return;
  const std::uint64_t number = heap_.number(*object);
  if (found_.live.contains(number) || found_.free.contains(number)) return;
  if (seen_.insert(number)) words_.push_back(word);
}

heap::RootWords StaleWords::words() const {
  return {std::as_bytes(std::span(words_)), heap::Heap::From::Stack};
}

}  // namespace heapattach::snapshot
