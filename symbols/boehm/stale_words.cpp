#include "symbols/boehm/stale_words.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "symbols/boehm/collector_lists.h"
#include "symbols/heap/ranges.h"
#include "symbols/heap/roots.h"

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kMostUnscannedBytes = std::uint64_t{1} << 30U;

void add(std::span<const Range> more, std::vector<Range>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

// The heap, in use or free, and the collector's tables, which reference it whether it is alive or
// not.
std::vector<Range> of_collector(const heap::Copied& copied,
                                const Collector& collector,
                                std::span<const Range> collector_data,
                                const heap::BlockIndex& index) {
  std::vector<Range> ranges;
  for (const heap::Block& block : index.blocks) {
    ranges.push_back({block.start, block.object(block.objects) - block.start});
  }
  add(index.free, ranges);
  add(index.headers, ranges);
  add(collector_lists(copied.capture, collector_data, collector, index, copied.threads), ranges);
  return heap::joined(std::move(ranges));
}

}  // namespace

std::vector<Range> stale_stacks(const heap::Copied& copied,
                                std::span<const heap::RootRange> roots) {
  std::vector<Range> stacks;
  for (const FrozenThread& thread : copied.threads) {
    if (!thread.registers) continue;
    const RemoteAddr end{thread.registers->stack_pointer.value & ~std::uint64_t{7}};
    const Mapping* stack = copied.map.find(end);
    if (stack != nullptr) stacks.push_back({stack->range.start, end - stack->range.start});
  }
  std::vector<std::uint64_t> sizes;
  for (const heap::RootRange& root : roots) {
    const Mapping* stack = copied.map.find(root.range.start);
    if (root.kind != heap::RootKind::Fiber || stack == nullptr) continue;
    sizes.push_back(stack->range.bytes);
  }
  std::ranges::sort(sizes);
  for (const Mapping& mapping : copied.map.mappings()) {
    const bool is_alike = mapping.is_anonymous() && mapping.readable && mapping.writable &&
                          std::ranges::binary_search(sizes, mapping.range.bytes);
    if (is_alike) stacks.push_back(mapping.range);
  }
  return stacks;
}

std::optional<std::vector<Range>> unscanned_memory(const heap::Copied& copied,
                                                   const Collector& collector,
                                                   std::span<const Range> collector_data,
                                                   const heap::BlockIndex& index) {
  std::vector<Range> writable;
  for (const Mapping& mapping : copied.map.mappings()) {
    if (mapping.readable && mapping.writable) writable.push_back(mapping.range);
  }
  std::uint64_t left = kMostUnscannedBytes;
  std::vector<Range> parts;
  const std::vector<Range> known = of_collector(copied, collector, collector_data, index);
  for (Range rest : heap::plan_copy({}, writable, known, copied.map)) {
    if (rest.bytes > left) return {};
    left -= rest.bytes;
    while (rest.bytes > 0) {
      const std::uint64_t bytes = std::min(rest.bytes, StaleWords::kMostBytes);
      parts.push_back({rest.start, bytes});
      rest = {rest.start + bytes, rest.bytes - bytes};
    }
  }
  return parts;
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

}  // namespace heapattach::boehm
