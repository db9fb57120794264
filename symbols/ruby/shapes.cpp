#include "symbols/ruby/shapes.h"

#include <cstring>
#include <span>

namespace heapattach::ruby {

namespace {

constexpr std::uint32_t kMostShapes = 1U << 19;  // SHAPE_BUFFER_SIZE
constexpr std::uint64_t kNumberAt = 32;          // bits of an object's flags below the number

// All other shapes derive from the first ones. There is one of these for each size of slots.
constexpr std::uint32_t kFirst = 5;
constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint8_t kIsFirst = 0;       // SHAPE_ROOT
constexpr std::uint8_t kIsTooComplex = 4;  // SHAPE_OBJ_TOO_COMPLEX

// How rb_shape_tree_t begins.
struct Tree {
  std::uint64_t shapes = 0;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t padding = 0;
};
static_assert(sizeof(Tree) == 24);

std::optional<Tree> tree_at(const Values& values, std::uint64_t at) {
  if (!is_reference(at)) return std::nullopt;
  const auto tree = values.as<Tree>(at);
  const bool is_one = tree && is_reference(tree->shapes) && tree->first == tree->shapes &&
                      tree->count >= kFirst && tree->count <= kMostShapes;
  return is_one ? tree : std::nullopt;
}

}  // namespace

bool Shapes::are_at(const Layout& layout, const Values& values, std::uint64_t tree) {
  const auto found = tree_at(values, tree);
  if (!found) return false;
  for (std::uint32_t i = 0; i < kFirst; ++i) {
    const std::uint64_t shape = found->shapes + std::uint64_t{i} * layout.shape.bytes;
    if (values.as<std::uint8_t>(shape + layout.shape.type) != kIsFirst ||
        values.as<std::uint8_t>(shape + layout.shape.slot_size) != i ||
        values.as<std::uint32_t>(shape + layout.shape.parent) != kNone) {
      return false;
    }
  }
  return true;
}

Shapes Shapes::read(const Machine& machine, const MemoryReader& memory) {
  const Values values(memory, machine.layout->values);
  const auto tree = tree_at(values, machine.shapes);
  if (!tree) return {};
  Shapes shapes;
  shapes.bytes_.resize(std::size_t{tree->count} * machine.layout->shape.bytes);
  if (!memory.read(RemoteAddr{tree->shapes}, shapes.bytes_)) return {};
  shapes.layout_ = machine.layout;
  return shapes;
}

std::optional<std::uint64_t> Shapes::room_of(const Slot& object) const {
  if (layout_ == nullptr) return std::nullopt;
  const auto& form = layout_->shape;
  const std::uint64_t at = (object.flags() >> kNumberAt) * form.bytes;
  if (at >= bytes_.size()) return std::nullopt;
  const auto shape = std::span(bytes_).subspan(at, form.bytes);
  if (std::to_integer<std::uint8_t>(shape[form.type]) == kIsTooComplex) return std::nullopt;
  std::uint32_t room = 0;
  std::memcpy(&room, shape.data() + form.capacity, sizeof room);
  return room;
}

}  // namespace heapattach::ruby
