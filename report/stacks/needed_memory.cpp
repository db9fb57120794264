#include "report/stacks/needed_memory.h"

#include <cstring>

#include "attach/base/word.h"
#include "attach/process/near_mapping.h"
#include "report/stacks/system_calls.h"

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kTimerBytes = 128;  // libevent's struct event

// `hint` is for find_near().
bool may_be_timer(std::uint64_t word,
                  const crystal::FiberStack& fiber,
                  const MemoryMap& map,
                  std::size_t& hint) {
  if (word == 0 || word % kWordBytes != 0) return false;
  const Mapping* const mapping = find_near(map, RemoteAddr{word}, hint);
  if (mapping == nullptr || !mapping->writable || !mapping->is_anonymous()) return false;
  // It is never on the fiber's own stack.
  return !mapping->range.contains(fiber.stack.start);
}

}  // namespace

std::vector<Range> memory_of_calls(std::span<const FrozenThread> threads, const Modules& modules) {
  std::vector<Range> memory;
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) continue;
    if (const auto call = call_of(*thread.registers, modules)) {
      for (const Range& range : memory_of(*call)) memory.push_back(range);
    }
  }
  return memory;
}

FiberWords words_of(std::span<const crystal::FiberStack> fibers,
                    std::uint64_t fiber_bytes,
                    const heap::BlockIndex& index,
                    const MemoryMap& map,
                    const Capture& capture) {
  FiberWords words;
  const Range heap = span_of(index);
  std::vector<std::size_t> hints(fiber_bytes / kWordBytes);  // by field
  for (const crystal::FiberStack& fiber : fibers) {
    const auto bytes = capture.bytes_from(fiber.object);
    if (bytes.size() < fiber_bytes) continue;
    for (std::size_t i = 0; i < hints.size(); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i * kWordBytes, sizeof word);
      if (heap.contains(RemoteAddr{word})) {
        words.in_heap.push_back(word);
      } else if (may_be_timer(word, fiber, map, hints[i])) {
        words.timers.push_back({RemoteAddr{word}, kTimerBytes});
      }
    }
  }
  return words;
}

Range span_of(const heap::BlockIndex& index) {
  if (index.blocks.empty()) return {};
  const heap::Block& last = index.blocks.back();
  const RemoteAddr start = index.blocks.front().start;
  return {start, last.start - start + last.object_bytes * last.objects};
}

}  // namespace heapattach::stacks
