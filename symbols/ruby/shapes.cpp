#include "symbols/ruby/shapes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace heapattach::ruby {

namespace {

constexpr std::uint32_t kMostShapes = 1U << 19;  // SHAPE_BUFFER_SIZE
constexpr std::uint64_t kNumberAt = 32;          // bits of an object's flags below the number
constexpr std::uint64_t kNameAt = 8;             // of the variable that a shape adds
constexpr std::size_t kMostAncestors = 4096;
constexpr std::size_t kMostNames = std::size_t{1} << 22;  // of all shapes together
constexpr std::uint8_t kAddsVariable = 1;                 // SHAPE_IVAR

std::uint64_t number_in(std::span<const std::byte> shape, std::uint64_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, shape.data() + at, bytes);
  return number;
}

}  // namespace

bool Shapes::are_at(const ShapeForm& form,
                    const Values& values,
                    const NameReader& names,
                    std::uint64_t at) {
  constexpr std::size_t kChecked = 200;
  constexpr std::size_t kEnough = 3;
  if (!is_reference(at) || at % 16 != 0) return false;
  std::vector<std::byte> bytes(kChecked * form.bytes);
  const auto got = values.memory().read_some(RemoteAddr{at}, bytes);
  if (!got || *got < kEnough * form.bytes) return false;
  const std::size_t count = *got / form.bytes;
  const auto shape = [&](std::size_t i) {
    return std::span(bytes).subspan(i * form.bytes, form.bytes);
  };
  // The first shape derives from no other.
  if (number_in(shape(0), form.parent, 4) < 0x7ffff || number_in(shape(0), kNameAt, 8) != 0) {
    return false;
  }
  std::size_t variables = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (number_in(shape(i), form.type, 1) != kAddsVariable) continue;
    const std::uint64_t parent = number_in(shape(i), form.parent, 4) & form.number;
    const std::uint64_t index = number_in(shape(i), form.index, form.index_bytes);
    if (parent >= i || index != number_in(shape(parent), form.index, form.index_bytes) + 1) {
      return false;
    }
    const auto name = names.name(number_in(shape(i), kNameAt, 8));
    // In 3.2, Ruby's own variables of a class have names such as "__classpath__".
    if (name && (name->starts_with('@') || name->starts_with("__"))) ++variables;
  }
  return variables >= kEnough;
}

Shapes Shapes::read(const Machine& machine, const MemoryReader& memory) {
  Shapes shapes;
  const std::size_t bytes_of_one = machine.layout->shape.bytes;
  if (machine.shapes == 0 || bytes_of_one == 0) return shapes;
  // The shapes end where the memory reserved for them has not been used.
  constexpr std::size_t kTogether = 2048;
  std::vector<std::byte> bytes(kTogether * bytes_of_one);
  for (std::size_t first = 0; first < kMostShapes; first += kTogether) {
    const RemoteAddr from{machine.shapes + first * bytes_of_one};
    const auto got = memory.read_some(from, bytes);
    if (!got) break;
    const auto end =
        bytes.begin() + static_cast<std::ptrdiff_t>(*got / bytes_of_one * bytes_of_one);
    shapes.bytes_.insert(shapes.bytes_.end(), bytes.begin(), end);
    const bool is_unused =
        std::all_of(end - static_cast<std::ptrdiff_t>(
                              std::min(*got / bytes_of_one, std::size_t{1}) * bytes_of_one),
                    end, [](std::byte one) { return one == std::byte{0}; });
    if (*got < bytes.size() || is_unused) break;
  }
  shapes.form_ = machine.layout->shape;
  return shapes;
}

std::uint64_t Shapes::member(std::uint32_t shape, std::uint64_t at, std::size_t bytes) const {
  return number_in(std::span(bytes_).subspan(std::size_t{shape} * form_.bytes, form_.bytes), at,
                   bytes);
}

std::optional<std::uint32_t> Shapes::number_of(const Slot& object) const {
  if (form_.bytes == 0) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(object.flags() >> kNumberAt) & form_.number;
  if ((std::size_t{number} + 1) * form_.bytes > bytes_.size()) return std::nullopt;
  return number;
}

bool Shapes::is_complex(const Slot& object) const {
  const auto whole = static_cast<std::uint32_t>(object.flags() >> kNumberAt);
  if ((whole & form_.complex_flag) != 0) return true;
  const auto number = number_of(object);
  return number && member(*number, form_.type, 1) == form_.complex_type;
}

std::optional<std::uint64_t> Shapes::room_of(const Slot& object) const {
  const auto number = number_of(object);
  if (!number || is_complex(object)) return std::nullopt;
  return member(*number, form_.capacity, form_.capacity_bytes);
}

const std::vector<Id>* Shapes::fields_of(const Slot& object) {
  const auto number = number_of(object);
  if (!number || is_complex(object)) return nullptr;
  const std::uint64_t count = member(*number, form_.index, form_.index_bytes);
  if (count > kMostAncestors) return nullptr;
  if (const auto known = fields_.find(*number); known != fields_.end()) return &known->second;
  // A wrong count must not cost memory: each variable has a shape of its own.
  const std::vector<std::uint32_t> line = line_of(*number);
  if (count > line.size() || count > kMostNames - names_) return nullptr;
  names_ += count;
  std::vector<Id>& names = fields_[*number];
  names.resize(count);
  for (const std::uint32_t shape : line) {
    const std::uint64_t index = member(shape, form_.index, form_.index_bytes);
    if (index == 0) break;
    if (member(shape, form_.type, 1) == kAddsVariable && index <= names.size()) {
      names[index - 1] = member(shape, kNameAt, 8);
    }
  }
  return &names;
}

// The shape and those that it derives from.
std::vector<std::uint32_t> Shapes::line_of(std::uint32_t shape) const {
  std::vector<std::uint32_t> line;
  while (line.size() < kMostAncestors) {
    line.push_back(shape);
    const auto parent = static_cast<std::uint32_t>(member(shape, form_.parent, 4)) & form_.number;
    if ((std::size_t{parent} + 1) * form_.bytes > bytes_.size() || parent == shape) break;
    shape = parent;
  }
  return line;
}

}  // namespace heapattach::ruby
