// A fiber's stack is an anonymous mapping whose first page is protected. Its object contains the
// start of the stack (including that page), its end, and, while it is not running, its stack
// pointer, followed by a word that is 1. No other object has three such words for one mapping. That
// is how the layout is learned without type information.

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "attach/base/page.h"
#include "symbols/crystal/fiber_objects.h"
#include "symbols/crystal/fibers.h"

namespace heapattach::crystal {
namespace {

constexpr std::uint32_t kLargestId = 0x7fffffff;

bool is_plausible_id(Words words) {
  return id_of(words) > 0 && id_of(words) <= kLargestId;
}

// gcore marks a protected page as readable.
bool is_guard(const Mapping& mapping, std::uint64_t page_bytes) {
  return mapping.is_anonymous() && !mapping.writable &&
         (!mapping.readable || mapping.range.bytes == page_bytes);
}

// The stacks that fibers may have: by the address of the protected page.
std::unordered_map<std::uint64_t, Range> fiber_stacks(const MemoryMap& map) {
  const std::uint64_t page_bytes = map.page_bytes();
  std::unordered_map<std::uint64_t, Range> stacks;
  const Mapping* before = nullptr;
  for (const Mapping& mapping : map.mappings()) {
    const bool is_memory = mapping.readable && mapping.writable && mapping.is_private &&
                           mapping.is_anonymous() && mapping.range.bytes >= 4 * kLeastPageBytes;
    const bool is_guarded = before != nullptr && is_guard(*before, page_bytes) &&
                            before->range.end() == mapping.range.start;
    if (is_memory && is_guarded) {
      stacks.emplace((mapping.range.start - page_bytes).value, mapping.range);
    }
    before = &mapping;
  }
  return stacks;
}

// The offsets of the three words that describe a stack in an object.
struct Shape {
  std::uint32_t id = 0;
  std::uint64_t stack_top = 0;
  std::uint64_t stack_bottom = 0;

  friend auto operator<=>(const Shape&, const Shape&) = default;
};

// The offsets of an end of this stack and of a word into it, if the object has both.
std::optional<Shape> shape_with(Words words, std::uint64_t base, const Range& stack) {
  Shape shape{id_of(words), 0, 0};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    if (word <= stack.start.value || word > stack.end().value) continue;
    const bool is_top = word < stack.end().value && i + 1 < words.size() && words[i + 1] <= 1;
    const bool is_bottom = (word - base) % kLeastPageBytes == 0;
    if (is_bottom && shape.stack_bottom == 0) {
      shape.stack_bottom = i * 8;
    } else if (is_top && shape.stack_top == 0) {
      shape.stack_top = i * 8;
    }
  }
  const bool is_complete = shape.stack_bottom != 0 && shape.stack_top != 0 &&
                           words[shape.stack_top / 8] < words[shape.stack_bottom / 8];
  return is_complete ? std::optional(shape) : std::nullopt;
}

std::optional<Shape> shape_of(Words words, const std::unordered_map<std::uint64_t, Range>& stacks) {
  if (!is_plausible_id(words)) return std::nullopt;
  for (const std::uint64_t base : words.subspan(1)) {
    const auto stack = stacks.find(base);
    if (stack == stacks.end()) continue;
    if (const auto shape = shape_with(words, base, stack->second)) return shape;
  }
  return std::nullopt;
}

// The two offsets by which the objects point to each other and back.
void learn_links(const Objects& objects, FiberLayout& layout) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> votes;
  for (const Object& object : objects) {
    for (std::size_t a = 1; a < object.words.size(); ++a) {
      const Object* other = objects.find(object.words[a], object);
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

std::optional<std::uint64_t> offset_of(const Type& type,
                                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto field = std::find_if(type.fields.begin(), type.fields.end(),
                                    [&](const Field& f) { return f.name == name; });
    const bool is_word = field != type.fields.end() && field->offset % 8 == 0 &&
                         field->offset < kLargestFiber && field->bytes == 8;
    if (is_word) return field->offset;
  }
  return std::nullopt;
}

// From the fields of type information; needs an object only for the size.
FiberLayout layout_of(const Type& type, const heap::BlockIndex& index) {
  FiberLayout layout;
  const auto top = offset_of(type, {"@context.@stack_top"});
  const auto bottom = offset_of(type, {"@stack.@bottom", "@stack_bottom"});
  if (!top || !bottom || !type.instance_bytes) return layout;
  for (const heap::Block& block : index.blocks) {
    const bool fits = block.object_bytes > *type.instance_bytes &&
                      boehm::may_hold_request(block.object_bytes, *type.instance_bytes) &&
                      !block.is_atomic();
    if (fits && (layout.object_bytes == 0 || block.object_bytes < layout.object_bytes)) {
      layout.object_bytes = block.object_bytes;
    }
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

// The shape that most have, and the smallest object that has it.
struct Commonest {
  Shape shape;
  std::uint64_t object_bytes = 0;
};

std::optional<Commonest> commonest_shape(std::optional<std::uint32_t> id,
                                         const heap::BlockIndex& index,
                                         const MemoryReader& memory,
                                         const MemoryMap& map) {
  constexpr int kEnough = 200;
  const auto stacks = fiber_stacks(map);
  if (stacks.empty()) return std::nullopt;
  struct Votes {
    int count = 0;
    std::uint64_t smallest = kLargestFiber;
  };
  std::map<Shape, Votes> votes;
  int seen = 0;
  each_object(
      index, memory, [&](const heap::Block&) { return seen < kEnough; },
      [&](RemoteAddr, Words words) {
        if (id && id_of(words) != *id) return;
        const auto shape = shape_of(words, stacks);
        if (!shape) return;
        Votes& of_shape = votes[*shape];
        ++of_shape.count;
        of_shape.smallest = std::min<std::uint64_t>(of_shape.smallest, words.size() * 8);
        ++seen;
      });
  const auto most = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return a.second.count < b.second.count;
  });
  if (most == votes.end()) return std::nullopt;
  return Commonest{most->first, most->second.smallest};
}

}  // namespace

// The bytes of a fiber up to the end of its last known field.
std::uint64_t needed_bytes(const FiberLayout& layout) {
  return 8 + std::max({layout.stack_top + 8, layout.stack_bottom, layout.next.value_or(0),
                       layout.previous.value_or(0), layout.name.value_or(0)});
}

// Whether there is a String: its id is 1 in every program, and a NUL ends it.
bool is_string(RemoteAddr at, const MemoryReader& memory) {
  const auto header = memory.read_as<std::array<std::uint32_t, 3>>(at);
  constexpr std::uint32_t kLongestName = 64U << 10U;
  if (!header || (*header)[0] != 1 || (*header)[1] > kLongestName || (*header)[2] > (*header)[1]) {
    return false;
  }
  const auto end = memory.read_as<std::uint8_t>(at + 12 + (*header)[1]);
  return end && *end == 0;
}

FiberLayout learn_layout(std::optional<std::uint32_t> id,
                         const heap::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map) {
  constexpr std::size_t kEnough = 1000;
  FiberLayout layout;
  layout.type_id = id;
  const auto found = commonest_shape(id, index, memory, map);
  if (!found) return layout;
  const Shape& shape = found->shape;
  layout.type_id = shape.id;
  layout.object_bytes = found->object_bytes;
  layout.stack_top = shape.stack_top;
  layout.stack_bottom = shape.stack_bottom;
  const Wanted wanted{shape.id, layout.object_bytes, kEnough};
  const Objects objects = objects_of(wanted, index, memory, [&](const heap::Block& block) {
    return may_be_fiber(block.object_bytes, layout.object_bytes);
  });
  learn_links(objects, layout);
  learn_name(objects, memory, layout);
  return layout;
}

FiberLayout learn_fibers(const TypeTable& types,
                         const heap::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map) {
  const Type* type = types.find("Fiber");
  if (type == nullptr) return learn_layout(std::nullopt, index, memory, map);
  const FiberLayout told = layout_of(*type, index);
  if (told.is_known() && needed_bytes(told) <= told.object_bytes) return told;
  return learn_layout(type->id, index, memory, map);
}

}  // namespace heapattach::crystal
