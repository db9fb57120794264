// All fibers that are not finished form a doubly linked list (Thread::LinkedList), which the
// collector's hook walks in link order. Here it is not walked: each object is checked once, and is
// in the list if its neighbours point back to it. That costs the same for a list with a cycle, and
// no neighbour points to a finished fiber, whose own links remain.

#include "symbols/crystal/fibers.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "attach/process/near_mapping.h"
#include "symbols/crystal/fiber_objects.h"

namespace heapattach::crystal {
namespace {

constexpr std::uint64_t kLargestStack = 1ULL << 30U;

// The block around the address; null if there is none.
const heap::Block* block_around(const heap::BlockIndex& index, std::uint64_t address) {
  const auto behind =
      std::partition_point(index.blocks.begin(), index.blocks.end(),
                           [&](const heap::Block& b) { return b.start.value <= address; });
  return behind == index.blocks.begin() ? nullptr : &*std::prev(behind);
}

// The sizes of the objects, not in `objects`, that those in `objects` link to.
std::set<std::uint64_t> sizes_of_neighbours(const Objects& objects,
                                            const FiberLayout& layout,
                                            const heap::BlockIndex& index) {
  std::set<std::uint64_t> sizes;
  for (const Object& object : objects) {
    for (const auto& link : {layout.next, layout.previous}) {
      const std::uint64_t neighbour = link ? object.words[*link / 8] : 0;
      if (neighbour == 0 || objects.find(neighbour, object) != nullptr) continue;
      if (const auto* block = block_around(index, neighbour)) sizes.insert(block->object_bytes);
    }
  }
  return sizes;
}

// All objects with the id of a fiber. The collector may use different sizes for one request: an
// object from a thread's own lists is rounded up to granules, others to a shared size, which is
// larger (size_classes.h). The links show which sizes exist: reading objects of all possible sizes
// would make the pause longer.
Objects all_objects(const FiberLayout& layout,
                    const heap::BlockIndex& index,
                    const MemoryReader& memory) {
  const Wanted wanted{*layout.type_id, needed_bytes(layout)};
  const auto may_hold = [&](std::uint64_t bytes) {
    return bytes >= wanted.bytes && may_be_fiber(bytes, layout.object_bytes);
  };
  Objects objects;
  std::set<std::uint64_t> sizes{layout.object_bytes};
  std::set<std::uint64_t> done;
  while (!sizes.empty()) {
    objects.merge(objects_of(wanted, index, memory, [&](const heap::Block& block) {
      return sizes.count(block.object_bytes) != 0;
    }));
    done.merge(sizes);
    sizes.clear();
    if (objects.empty() || !layout.next) {
      for (const heap::Block& block : index.blocks) sizes.insert(block.object_bytes);
    } else {
      sizes = sizes_of_neighbours(objects, layout, index);
    }
    std::erase_if(sizes,
                  [&](std::uint64_t bytes) { return !may_hold(bytes) || done.count(bytes) != 0; });
  }
  return objects;
}

// The fibers at one moment.
class Fibers {
 public:
  Fibers(const FiberLayout& layout, Objects objects, const MemoryMap& map)
      : layout_(layout), objects_(std::move(objects)), map_(map) {}

  [[nodiscard]] std::vector<FiberStack> stacks(std::span<const FrozenThread> threads) const {
    const auto running = running_on(threads);
    std::vector<FiberStack> stacks;
    std::size_t mapping = 0;  // of the last one: stacks are often neighbours too
    for (const Object& object : objects_) {
      const auto thread = running.find(object.at.value);
      const bool is_running = thread != running.end();
      if (!is_running && !is_linked(object)) continue;
      const std::uint64_t top = is_running ? thread->second : word(object, layout_.stack_top);
      const auto stack = stack_from(top, word(object, layout_.stack_bottom), mapping);
      const std::uint64_t name = layout_.name ? word(object, *layout_.name) : 0;
      if (!stack) continue;
      stacks.push_back({object.at, *stack, {name}, is_running, is_running && was_linked(object)});
    }
    return stacks;
  }

 private:
  static std::uint64_t word(const Object& object, std::uint64_t offset) {
    return object.words[offset / 8];
  }

  // Whether the object is in the list of all fibers: its neighbours point back to it. A single
  // fiber has no neighbours.
  [[nodiscard]] bool is_linked(const Object& object) const {
    if (!layout_.next || !layout_.previous) return true;
    return leads_back(object, *layout_.next, *layout_.previous) &&
           leads_back(object, *layout_.previous, *layout_.next) &&
           (word(object, *layout_.next) != 0 || word(object, *layout_.previous) != 0 ||
            objects_.size() == 1);
  }
  // Whether the object still has links to neighbours, which no longer link back.
  [[nodiscard]] bool was_linked(const Object& object) const {
    if (!layout_.next || !layout_.previous || is_linked(object)) return false;
    return word(object, *layout_.next) != 0 || word(object, *layout_.previous) != 0;
  }
  [[nodiscard]] bool leads_back(const Object& object,
                                std::uint64_t there,
                                std::uint64_t back) const {
    if (word(object, there) == 0) return true;
    const Object* other = objects_.find(word(object, there), object);
    return other != nullptr && word(*other, back) == object.at.value;
  }

  // The words from `top` to `bottom`, if they are one piece of readable stack. `hint` is for
  // find_near().
  [[nodiscard]] std::optional<Range> stack_from(std::uint64_t top,
                                                std::uint64_t bottom,
                                                std::size_t& hint) const {
    if (top % 8 != 0 || bottom % 8 != 0 || top >= bottom || bottom - top > kLargestStack) {
      return std::nullopt;
    }
    const Mapping* mapping = find_near(map_, {top}, hint);
    const bool fits = mapping != nullptr && mapping->readable && mapping->writable &&
                      bottom <= mapping->range.end().value;
    return fits ? std::optional(Range{{top}, bottom - top}) : std::nullopt;
  }

  // Maps each fiber whose stack a thread is on to that thread's stack pointer. If a finished fiber
  // shares its old stack with another one, the one in the list counts.
  [[nodiscard]] std::unordered_map<std::uint64_t, std::uint64_t> running_on(
      std::span<const FrozenThread> threads) const {
    std::vector<std::uint64_t> pointers;
    for (const FrozenThread& thread : threads) {
      std::uint64_t stack_pointer = 0;
      if (thread.registers) stack_pointer = thread.registers->stack_pointer.value;
      if (!thread.registers && thread.blocked_stack_pointer) {
        stack_pointer = thread.blocked_stack_pointer->value;
      }
      pointers.push_back(stack_pointer);
    }
    std::sort(pointers.begin(), pointers.end());
    std::unordered_map<std::uint64_t, std::uint64_t> running;
    std::size_t mapping = 0;
    const Object* above = nullptr;
    const std::vector<const Object*> nearest = nearest_above(pointers);
    for (std::size_t i = pointers.size(); i-- > 0;) {
      if (nearest[i] != nullptr) above = nearest[i];
      const std::uint64_t first = pointers[i] & ~std::uint64_t{7};
      if (above == nullptr || !stack_from(first, stack_end(*above), mapping)) continue;
      running[above->at.value] = first;
    }
    return running;
  }

  // For each address (sorted), the object whose stack ends closest above it, but below the next
  // address; null if there is none.
  [[nodiscard]] std::vector<const Object*> nearest_above(
      const std::vector<std::uint64_t>& addresses) const {
    std::vector<const Object*> nearest(addresses.size());
    for (const Object& object : objects_) {
      const std::uint64_t end = stack_end(object);
      const auto next = std::lower_bound(addresses.begin(), addresses.end(), end);
      if (next == addresses.begin()) continue;
      const Object*& best = nearest[static_cast<std::size_t>(next - addresses.begin()) - 1];
      const bool is_better = best == nullptr || end < stack_end(*best) ||
                             (end == stack_end(*best) && !is_linked(*best) && is_linked(object));
      if (is_better) best = &object;
    }
    return nearest;
  }

  [[nodiscard]] std::uint64_t stack_end(const Object& object) const {
    return word(object, layout_.stack_bottom);
  }

  const FiberLayout& layout_;
  Objects objects_;
  const MemoryMap& map_;
};

}  // namespace

std::vector<FiberStack> suspended_fibers(const FiberLayout& layout,
                                         const heap::BlockIndex& index,
                                         const MemoryReader& memory,
                                         const MemoryMap& map,
                                         std::span<const FrozenThread> threads) {
  const FiberLayout known =
      layout.is_known() ? layout : learn_layout(layout.type_id, index, memory, map);
  const std::uint64_t bytes = needed_bytes(known);
  if (!known.is_known() || bytes > known.object_bytes) return {};
  return Fibers(known, all_objects(known, index, memory), map).stacks(threads);
}

std::string fiber_name(const FiberStack& fiber, const MemoryReader& memory) {
  constexpr std::uint32_t kLongest = 256;
  if (fiber.name.value == 0 || !is_string(fiber.name, memory)) return {};
  const auto bytes = memory.read_as<std::uint32_t>(fiber.name + 4);
  if (!bytes) return {};
  std::string name(std::min(*bytes, kLongest), '\0');
  const auto read = memory.read(fiber.name + 12, std::as_writable_bytes(std::span(name)));
  return read ? name : std::string{};
}

}  // namespace heapattach::crystal
