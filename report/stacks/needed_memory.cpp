#include "report/stacks/needed_memory.h"

#include "attach/x86_64.h"
#include "report/stacks/system_calls.h"

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kTimerBytes = 128;  // libevent's struct event

bool may_be_timer(std::uint64_t word, const crystal::FiberStack& fiber, const MemoryMap& map) {
  if (word % kWordBytes != 0) return false;
  const Mapping* const mapping = map.find(RemoteAddr{word});
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
                    const boehm::BlockIndex& index,
                    const MemoryMap& map,
                    const Capture& capture) {
  FiberWords words;
  std::vector<std::uint64_t> contents(fiber_bytes / kWordBytes);
  for (const crystal::FiberStack& fiber : fibers) {
    if (!capture.read(fiber.object, std::as_writable_bytes(std::span(contents)))) continue;
    for (const std::uint64_t word : contents) {
      if (is_in_heap(index, word)) {
        words.in_heap.push_back(word);
      } else if (may_be_timer(word, fiber, map)) {
        words.timers.push_back({RemoteAddr{word}, kTimerBytes});
      }
    }
  }
  return words;
}

bool is_in_heap(const boehm::BlockIndex& index, std::uint64_t word) {
  const auto& blocks = index.blocks;
  if (blocks.empty() || word < blocks.front().start.value) return false;
  const boehm::Block& last = blocks.back();
  return word < last.start.value + last.object_bytes * last.objects;
}

}  // namespace heapattach::stacks
