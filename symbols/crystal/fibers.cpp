// A fiber's stack is an anonymous mapping whose first page is protected. Its object holds, among
// others, where the stack starts (with that page), where it ends, and, while it is not running,
// where its stack pointer is, followed by a word that is 1. No other object has three such words
// for one mapping, which is how the layout is learned where nothing tells it.
//
// All fibers that are not finished form a doubly linked list (Thread::LinkedList), which the
// collector's hook walks in the order of its links. Here it is not walked: each object is looked
// at once, and is in the list if its neighbours lead back to it. That costs the same for a list
// with a cycle, and a finished fiber, whose own links remain, has no neighbour that leads to it.

#include "symbols/crystal/fibers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

namespace heapattach::crystal {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestStack = 1ULL << 30U;
constexpr std::uint64_t kSmallestFiber = 80;
constexpr std::uint64_t kLargestFiber = 512;
constexpr std::uint32_t kLargestId = 0x7fffffff;

using Words = std::span<const std::uint64_t>;

// Calls `visit(address, words)` for each object, in use or free, of the blocks that `choose` takes.
template <class Choose, class Visit>
void each_object(const boehm::BlockIndex& index,
                 const MemoryReader& memory,
                 const Choose& choose,
                 const Visit& visit) {
  constexpr std::size_t kBatch = 256;
  constexpr std::uint64_t kLargestBlock = 64U << 10U;
  std::vector<const boehm::Block*> batch;
  std::vector<std::vector<std::uint64_t>> contents(kBatch);
  const auto flush = [&] {
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      contents[i].assign(batch[i]->object_bytes * batch[i]->objects / 8, 0);
      copies.push_back({batch[i]->start, std::as_writable_bytes(std::span(contents[i]))});
    }
    if (!memory.copy_all(copies, {}).has_value()) return;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::size_t words = batch[i]->object_bytes / 8;
      for (std::uint32_t slot = 0; slot < batch[i]->objects; ++slot) {
        visit(batch[i]->start + slot * batch[i]->object_bytes,
              Words(contents[i]).subspan(slot * words, words), *batch[i]);
      }
    }
  };
  for (const boehm::Block& block : index.blocks) {
    const bool is_sane = block.object_bytes >= kSmallestFiber &&
                         block.object_bytes <= kLargestFiber && block.object_bytes % 8 == 0 &&
                         block.objects <= kLargestBlock / block.object_bytes;
    if (!is_sane || block.is_atomic() || !choose(block)) continue;
    batch.push_back(&block);
    if (batch.size() < kBatch) continue;
    flush();
    batch.clear();
  }
  if (!batch.empty()) flush();
}

std::uint32_t id_of(Words words) {
  return static_cast<std::uint32_t>(words[0]);
}

bool is_plausible_id(Words words) {
  return id_of(words) > 0 && id_of(words) <= kLargestId;
}

// The stacks that fibers may have: by the address of the protected page.
std::unordered_map<std::uint64_t, Range> fiber_stacks(const MemoryMap& map) {
  std::unordered_map<std::uint64_t, Range> stacks;
  const Mapping* before = nullptr;
  for (const Mapping& mapping : map.mappings()) {
    const bool is_memory = mapping.readable && mapping.writable && mapping.is_private &&
                           mapping.is_anonymous() && mapping.range.bytes >= 4 * kPage;
    const bool is_guarded = before != nullptr && !before->readable && !before->writable &&
                            before->is_anonymous() && before->range.end() == mapping.range.start;
    if (is_memory && is_guarded) stacks.emplace((mapping.range.start - kPage).value, mapping.range);
    before = &mapping;
  }
  return stacks;
}

// Where an object has the three words for one stack.
struct Shape {
  std::uint32_t id = 0;
  std::uint64_t object_bytes = 0;
  std::uint64_t stack_top = 0;
  std::uint64_t stack_bottom = 0;

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

std::optional<Shape> shape_of(Words words, const std::unordered_map<std::uint64_t, Range>& stacks) {
  if (!is_plausible_id(words)) return std::nullopt;
  for (std::size_t base = 1; base < words.size(); ++base) {
    const auto stack = stacks.find(words[base]);
    if (stack == stacks.end()) continue;
    const Range& range = stack->second;
    Shape shape{id_of(words), words.size() * 8, 0, 0};
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool is_inside = words[i] > range.start.value && words[i] < range.end().value;
      const bool is_top = is_inside && i + 1 < words.size() && words[i + 1] <= 1;
      const bool is_bottom = words[i] > range.start.value && words[i] <= range.end().value &&
                             (words[i] - words[base]) % kPage == 0;
      if (is_bottom && shape.stack_bottom == 0) {
        shape.stack_bottom = i * 8;
      } else if (is_top && shape.stack_top == 0) {
        shape.stack_top = i * 8;
      }
    }
    const bool is_complete = shape.stack_bottom != 0 && shape.stack_top != 0 &&
                             words[shape.stack_top / 8] < words[shape.stack_bottom / 8];
    if (is_complete) return shape;
  }
  return std::nullopt;
}

struct Object {
  RemoteAddr at;
  std::vector<std::uint64_t> words;
};

using Objects = std::vector<Object>;  // sorted by address

const Object* find(const Objects& objects, std::uint64_t at) {
  const auto found = std::lower_bound(
      objects.begin(), objects.end(), at,
      [](const Object& object, std::uint64_t address) { return object.at.value < address; });
  return found != objects.end() && found->at.value == at ? &*found : nullptr;
}

// The two offsets by which the objects lead to each other and back.
void learn_links(const Objects& objects, FiberLayout& layout) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> votes;
  for (const Object& object : objects) {
    for (std::size_t a = 1; a < object.words.size(); ++a) {
      const Object* other = find(objects, object.words[a]);
      if (other == nullptr || other == &object) continue;
      for (std::size_t b = a + 1; b < object.words.size(); ++b) {
        if (other->words[b] == object.at.value) ++votes[{a * 8, b * 8}];
      }
    }
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end()) return;
  layout.next = most->first.first;
  layout.previous = most->first.second;
}

// Whether a String stands there: its id is 1 in every program, and a NUL ends it.
bool is_string(RemoteAddr at, const MemoryReader& memory) {
  const auto header = memory.read_as<std::array<std::uint32_t, 3>>(at);
  constexpr std::uint32_t kLongestName = 64U << 10U;
  if (!header || (*header)[0] != 1 || (*header)[1] > kLongestName || (*header)[2] > (*header)[1]) {
    return false;
  }
  const auto end = memory.read_as<std::uint8_t>(at + 12 + (*header)[1]);
  return end && *end == 0;
}

// The word that is 0 or a String in every fiber, and a String in most.
void learn_name(const Objects& objects, const MemoryReader& memory, FiberLayout& layout) {
  constexpr std::size_t kEnough = 64;
  int best = 0;
  for (std::uint64_t offset = 8; offset < layout.object_bytes; offset += 8) {
    int strings = 0;
    for (std::size_t i = 0; i < std::min(objects.size(), kEnough) && strings >= 0; ++i) {
      const std::uint64_t word = objects[i].words[offset / 8];
      if (word != 0) strings = is_string({word}, memory) ? strings + 1 : -1;
    }
    if (strings <= best) continue;
    best = strings;
    layout.name = offset;
  }
}

Objects objects_of(const FiberLayout& layout,
                   const boehm::BlockIndex& index,
                   const MemoryReader& memory,
                   std::size_t most) {
  Objects objects;
  each_object(
      index, memory,
      [&](const boehm::Block& block) {
        return objects.size() < most && block.object_bytes == layout.object_bytes;
      },
      [&](RemoteAddr at, Words words, const boehm::Block&) {
        if (id_of(words) != layout.type_id) return;
        objects.push_back({at, {words.begin(), words.end()}});
      });
  return objects;
}

std::optional<std::uint64_t> offset_of(const Type& type,
                                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto field = std::find_if(type.fields.begin(), type.fields.end(),
                                    [&](const Field& f) { return f.name == name; });
    if (field != type.fields.end() && field->offset % 8 == 0 && field->bytes == 8) {
      return field->offset;
    }
  }
  return std::nullopt;
}

// From the fields of type information; needs no object but for the size.
FiberLayout layout_of(const Type& type, const boehm::BlockIndex& index) {
  FiberLayout layout;
  const auto top = offset_of(type, {"@context.@stack_top"});
  const auto bottom = offset_of(type, {"@stack.@bottom", "@stack_bottom"});
  if (!top || !bottom || !type.instance_bytes) return layout;
  for (const boehm::Block& block : index.blocks) {
    const bool fits = block.object_bytes > *type.instance_bytes &&
                      block.object_bytes <= *type.instance_bytes + 16 && !block.is_atomic();
    if (fits) layout.object_bytes = block.object_bytes;
  }
  layout.type_id = type.id;
  layout.stack_top = *top;
  layout.stack_bottom = *bottom;
  layout.next = offset_of(type, {"@next"});
  layout.previous = offset_of(type, {"@previous"});
  if (!layout.next || !layout.previous) layout.next = layout.previous = std::nullopt;
  layout.name = offset_of(type, {"@name"});
  return layout;
}

bool fits_into_object(const FiberLayout& layout) {
  const auto fits = [&](std::uint64_t offset) { return offset + 8 <= layout.object_bytes; };
  return fits(layout.stack_top + 8) && fits(layout.stack_bottom) && fits(layout.next.value_or(0)) &&
         fits(layout.previous.value_or(0)) && fits(layout.name.value_or(0));
}

std::optional<Shape> commonest_shape(std::optional<std::uint32_t> id,
                                     const boehm::BlockIndex& index,
                                     const MemoryReader& memory,
                                     const MemoryMap& map) {
  constexpr int kEnough = 200;
  const auto stacks = fiber_stacks(map);
  if (stacks.empty()) return std::nullopt;
  std::map<Shape, int> votes;
  int seen = 0;
  each_object(
      index, memory, [&](const boehm::Block&) { return seen < kEnough; },
      [&](RemoteAddr, Words words, const boehm::Block&) {
        if (id && id_of(words) != *id) return;
        const auto shape = shape_of(words, stacks);
        if (!shape) return;
        ++votes[*shape];
        ++seen;
      });
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end()) return std::nullopt;
  return most->first;
}

FiberLayout learn(std::optional<std::uint32_t> id,
                  const boehm::BlockIndex& index,
                  const MemoryReader& memory,
                  const MemoryMap& map) {
  constexpr std::size_t kEnough = 1000;
  FiberLayout layout;
  layout.type_id = id;
  const auto shape = commonest_shape(id, index, memory, map);
  if (!shape) return layout;
  layout.type_id = shape->id;
  layout.object_bytes = shape->object_bytes;
  layout.stack_top = shape->stack_top;
  layout.stack_bottom = shape->stack_bottom;
  const Objects objects = objects_of(layout, index, memory, kEnough);
  learn_links(objects, layout);
  learn_name(objects, memory, layout);
  return layout;
}

// The fibers of one moment.
class Fibers {
 public:
  Fibers(const FiberLayout& layout, Objects objects, const MemoryMap& map)
      : layout_(layout), objects_(std::move(objects)), map_(map) {}

  std::vector<FiberStack> stacks(std::span<const FrozenThread> threads) const {
    const auto running = running_on(threads);
    std::vector<FiberStack> stacks;
    for (const Object& object : objects_) {
      const auto thread = running.find(object.at.value);
      const bool is_running = thread != running.end();
      if (!is_running && !is_linked(object)) continue;
      const std::uint64_t top = is_running ? thread->second : word(object, layout_.stack_top);
      const auto stack = stack_from(top, word(object, layout_.stack_bottom));
      const std::uint64_t name = layout_.name ? word(object, *layout_.name) : 0;
      if (stack) stacks.push_back({object.at, *stack, {name}, is_running});
    }
    return stacks;
  }

 private:
  static std::uint64_t word(const Object& object, std::uint64_t offset) {
    return object.words[offset / 8];
  }

  // In the list of all fibers: its neighbours lead back to it. The only one there is has none.
  [[nodiscard]] bool is_linked(const Object& object) const {
    if (!layout_.next || !layout_.previous) return true;
    return leads_back(object, *layout_.next, *layout_.previous) &&
           leads_back(object, *layout_.previous, *layout_.next) &&
           (word(object, *layout_.next) != 0 || word(object, *layout_.previous) != 0 ||
            objects_.size() == 1);
  }
  [[nodiscard]] bool leads_back(const Object& object,
                                std::uint64_t there,
                                std::uint64_t back) const {
    if (word(object, there) == 0) return true;
    const Object* other = find(objects_, word(object, there));
    return other != nullptr && word(*other, back) == object.at.value;
  }

  // The words from `top` to `bottom`, if they are one piece of readable stack.
  [[nodiscard]] std::optional<Range> stack_from(std::uint64_t top, std::uint64_t bottom) const {
    if (top % 8 != 0 || bottom % 8 != 0 || top >= bottom || bottom - top > kLargestStack) {
      return std::nullopt;
    }
    const Mapping* mapping = map_.find({top});
    const bool fits = mapping != nullptr && mapping->readable && mapping->writable &&
                      bottom <= mapping->range.end().value;
    return fits ? std::optional(Range{{top}, bottom - top}) : std::nullopt;
  }

  // Which fibers' stacks the threads are on, and with which stack pointer. Where a finished fiber
  // shares its old stack with another one, that is the one in the list.
  [[nodiscard]] std::unordered_map<std::uint64_t, std::uint64_t> running_on(
      std::span<const FrozenThread> threads) const {
    std::vector<const Object*> by_bottom;
    for (const Object& object : objects_) by_bottom.push_back(&object);
    const auto bottom = [&](const Object* o) { return word(*o, layout_.stack_bottom); };
    std::sort(by_bottom.begin(), by_bottom.end(), [&](const Object* a, const Object* b) {
      return std::pair(bottom(a), is_linked(*b)) < std::pair(bottom(b), is_linked(*a));
    });
    std::unordered_map<std::uint64_t, std::uint64_t> running;
    for (const FrozenThread& thread : threads) {
      std::uint64_t stack_pointer = 0;
      if (thread.registers) stack_pointer = thread.registers->stack_pointer.value;
      if (!thread.registers && thread.blocked_stack_pointer) {
        stack_pointer = thread.blocked_stack_pointer->value;
      }
      const auto above =
          std::upper_bound(by_bottom.begin(), by_bottom.end(), stack_pointer,
                           [&](std::uint64_t at, const Object* o) { return at < bottom(o); });
      const std::uint64_t first = stack_pointer & ~std::uint64_t{7};
      if (above == by_bottom.end() || !stack_from(first, bottom(*above))) continue;
      running.emplace((*above)->at.value, first);
    }
    return running;
  }

  const FiberLayout& layout_;
  Objects objects_;
  const MemoryMap& map_;
};

}  // namespace

FiberLayout learn_fibers(const TypeTable& types,
                         const boehm::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map) {
  const Type* type = types.find("Fiber");
  if (type == nullptr) return learn(std::nullopt, index, memory, map);
  const FiberLayout told = layout_of(*type, index);
  if (told.is_known() && fits_into_object(told)) return told;
  return learn(type->id, index, memory, map);
}

std::vector<FiberStack> suspended_fibers(const FiberLayout& layout,
                                         const boehm::BlockIndex& index,
                                         const MemoryReader& memory,
                                         const MemoryMap& map,
                                         std::span<const FrozenThread> threads) {
  const FiberLayout known = layout.is_known() ? layout : learn(layout.type_id, index, memory, map);
  if (!known.is_known() || !fits_into_object(known)) return {};
  constexpr std::size_t kAll = ~std::size_t{0};
  return Fibers(known, objects_of(known, index, memory, kAll), map).stacks(threads);
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
