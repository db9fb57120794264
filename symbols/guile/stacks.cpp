#include "symbols/guile/stacks.h"

#include <optional>

namespace heapattach::guile {

namespace {

// The offsets, in words, of a machine's registers in the object that contains them. The registers
// are struct scm_vm of vm.h: in 2.2 an object of its own, in 3.0 a part of a thread's state.
struct Registers {
  std::size_t stack_pointer;
  std::size_t frame_pointer;
  std::size_t size;
  std::size_t bottom;
  std::size_t top;
  std::uint64_t least_bytes;  // the least size of the object
  std::uint64_t most_bytes;
};
constexpr Registers kOf22{1, 2, 6, 7, 8, 112, 256};
constexpr Registers kOf30{2, 3, 6, 7, 12, 256, 4096};

constexpr std::uint64_t kMostStack = std::uint64_t{1} << 40;

std::optional<Range> stack_of(const Registers& where,
                              std::span<const std::uint64_t> object,
                              const MemoryMap& map) {
  const std::uint64_t bottom = object[where.bottom];
  const std::uint64_t top = object[where.top];
  const std::uint64_t stack_pointer = object[where.stack_pointer];
  const std::uint64_t frame_pointer = object[where.frame_pointer];
  if (bottom == 0 || bottom >= top || top - bottom > kMostStack) return std::nullopt;
  if (top - bottom != object[where.size] * 8 || bottom % 4096 != 0) return std::nullopt;
  const bool is_ordered =
      bottom <= stack_pointer && stack_pointer <= frame_pointer && frame_pointer <= top;
  if (!is_ordered || stack_pointer % 8 != 0 || stack_pointer == top) return std::nullopt;
  const Mapping* mapping = map.find(RemoteAddr{stack_pointer});
  if (mapping == nullptr || !mapping->writable || mapping->range.end().value < top) {
    return std::nullopt;
  }
  return Range{RemoteAddr{stack_pointer}, top - stack_pointer};
}

}  // namespace

std::vector<Range> machine_stacks(const Facts& facts,
                                  std::span<const heap::Block> blocks,
                                  const MemoryReader& memory,
                                  const MemoryMap& map) {
  const Registers& where = facts.leads_to_slots ? kOf22 : kOf30;
  std::vector<Range> found;
  for (const heap::Block& block : blocks) {
    const bool is_of_kind = facts.leads_to_slots ? block.kind == heap::kNormal
                                                 : block.kind > heap::kAtomicUncollectable;
    if (!is_of_kind || block.object_bytes < where.least_bytes ||
        block.object_bytes > where.most_bytes) {
      continue;
    }
    std::vector<std::uint64_t> words(block.objects * block.object_bytes / 8);
    if (!memory.read(block.start, std::as_writable_bytes(std::span(words)))) continue;
    const std::size_t each = block.object_bytes / 8;
    for (std::size_t i = 0; i + each <= words.size(); i += each) {
      if (const auto stack = stack_of(where, std::span(words).subspan(i, each), map)) {
        found.push_back(*stack);
      }
    }
  }
  return found;
}

}  // namespace heapattach::guile
