#include "symbols/boehm/stack_bases.h"

#include <cstring>
#include <utility>

#include "symbols/boehm/heap.h"
#include "symbols/heap/roots.h"

namespace heapattach::boehm {

std::uint64_t count_held_past_first_page(heap::Heap& heap,
                                         const Capture& capture,
                                         const heap::LiveSet& found) {
  MarkingRules known = rules_of(heap);
  MarkingRules incremental = known;
  incremental.finds_bases_from_stacks = true;
  follow(heap, std::move(incremental));
  heap::ObjectSet held(heap);
  std::uint64_t count = 0;
  const auto look_at = [&](std::uint64_t word) {
    const auto ref = heap.resolve(word, heap::Heap::From::Stack);
    if (!ref) return;
    const std::uint64_t number = heap.number(*ref);
    const bool is_known = found.live.contains(number) || found.free.contains(number);
    if (!is_known && held.insert(number)) ++count;
  };
  for (const heap::RootWords& words : heap::root_words(found.ranges, capture)) {
    if (words.from != heap::Heap::From::Stack) continue;
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= words.bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, words.bytes.data() + i, sizeof word);
      look_at(word);
    }
  }
  for (const FrozenThread& thread : found.threads) {
    if (!thread.registers) continue;
    for (const std::uint64_t word : thread.registers->general) look_at(word);
  }
  follow(heap, std::move(known));
  return count;
}

}  // namespace heapattach::boehm
