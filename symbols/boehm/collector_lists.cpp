#include "symbols/boehm/collector_lists.h"

#include <algorithm>
#include <cstring>

#include "attach/base/page.h"
#include "symbols/boehm/kinds.h"
#include "symbols/heap/ranges.h"

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kEntryBytes = 16;  // an address and a descriptor
constexpr std::uint64_t kLeastEntries = 512;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 32;
// A parallel marker has an array of 4096 entries on its stack, just above the functions in which it
// waits.
constexpr std::uint64_t kLocalBytes = 4096 * kEntryBytes;
constexpr std::uint64_t kLeastFrames = 128;

// The different words of the copied parts of `ranges`, sorted.
std::vector<std::uint64_t> words_of(const Capture& capture, std::span<const Range> ranges) {
  std::vector<std::uint64_t> words;
  for (const Range& range : ranges) {
    const auto copied = capture.bytes_from(range.start);
    const auto bytes = copied.first(std::min<std::size_t>(copied.size(), range.bytes));
    const std::size_t first = words.size();
    words.resize(first + bytes.size() / 8);
    if (words.size() > first) {
      std::memcpy(words.data() + first, bytes.data(), (words.size() - first) * 8);
    }
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool overlaps(const Range& one, std::span<const Range> others) {
  return std::any_of(others.begin(), others.end(), [&](const Range& other) {
    return one.start < other.end() && other.start < one.end();
  });
}

// Entries that a collection left in its mark stack may reference objects that are dead by now. A
// mark stack is in memory that the collector allocated. Words that only resemble one, such as
// malloc's bins in a static program, are static variables.
void add_mark_stacks(const std::vector<std::uint64_t>& words,
                     std::span<const Range> collector_data,
                     std::vector<Range>& lists) {
  const auto has = [&](std::uint64_t word) {
    return std::binary_search(words.begin(), words.end(), word);
  };
  for (std::uint64_t entries = kLeastEntries; entries <= kMostEntries; entries *= 2) {
    if (!has(entries)) continue;
    for (const std::uint64_t start : words) {
      const bool is_address = start >= kLeastPageBytes && start % kEntryBytes == 0;
      if (!is_address || !has(start - kEntryBytes) || !has(start + entries * kEntryBytes)) continue;
      const Range stack{RemoteAddr{start}, entries * kEntryBytes};
      if (!overlaps(stack, collector_data)) lists.push_back(stack);
    }
  }
}

void add_reclaim_lists(const Capture& capture,
                       const Collector& collector,
                       const heap::BlockIndex& index,
                       std::vector<Range>& lists) {
  const auto is_block = [&](std::uint64_t word) {
    const auto block = std::lower_bound(
        index.blocks.begin(), index.blocks.end(), word,
        [](const heap::Block& one, std::uint64_t at) { return one.start.value < at; });
    return block != index.blocks.end() && block->start.value == word;
  };
  const std::size_t lists_of_one = lists_of_kind(collector.layout.shape());
  for (const ObjectKind& kind : read_kinds(*collector.kinds, capture)) {
    const auto bytes = capture.bytes_from(kind.unswept);
    if (kind.unswept.value % 8 != 0 || bytes.size() < lists_of_one * 8) continue;
    std::uint64_t blocks = 0;
    bool is_list = true;
    for (std::uint64_t i = 0; i < lists_of_one && is_list; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i * 8, sizeof word);
      is_list = word == 0 || is_block(word);
      blocks += word != 0 ? 1 : 0;
    }
    if (is_list && blocks > 0) lists.push_back({kind.unswept, lists_of_one * 8});
  }
}

void add_local_stacks(std::span<const FrozenThread> threads, std::vector<Range>& lists) {
  for (const FrozenThread& thread : threads) {
    if (!thread.name.starts_with("GC-marker-") || !thread.registers) continue;
    const RemoteAddr from{(thread.registers->stack_pointer.value + kLeastFrames) &
                          ~std::uint64_t{7}};
    // The thread's own data is above it. malloc allocated parts of that.
    const bool has_room = from + kLocalBytes < thread.registers->thread_pointer;
    if (has_room) lists.push_back({from, kLocalBytes});
  }
}

}  // namespace

std::vector<Range> collector_lists(const Capture& capture,
                                   std::span<const Range> collector_data,
                                   const Collector& collector,
                                   const heap::BlockIndex& index,
                                   std::span<const FrozenThread> threads) {
  std::vector<Range> lists;
  add_mark_stacks(words_of(capture, collector_data), collector_data, lists);
  if (collector.kinds) add_reclaim_lists(capture, collector, index, lists);
  add_local_stacks(threads, lists);
  return heap::joined(std::move(lists));
}

}  // namespace heapattach::boehm
