#include "symbols/ecl/objects.h"

#include <algorithm>

#include "symbols/ecl/values.h"

namespace heapattach::ecl {

namespace {

using runtimes::fits;
using runtimes::Shape;

// Words of an instance. A class is one too, whose slots begin with those of every class.
constexpr std::uint64_t kInstanceLength = 1;
constexpr std::uint64_t kInstanceClass = 2;
constexpr std::uint64_t kInstanceSlotList = 4;
constexpr std::uint64_t kInstanceSlots = 5;
constexpr std::uint64_t kClassNameSlot = 3;
constexpr std::uint64_t kMostSlots = 4096;

// The shapes of the parts of some types.
Shape part_shape(const KnownType& type, const Field& field) {
  Shape shape = runtimes::part_of(type.name, field.name);
  const std::string_view name = field.name;
  if (name == "entries" && std::string_view(type.name) == "hash-table") {
    shape.element_bytes = 16;
    shape.element_words = {{0, "key"}, {8, "value"}};
  } else if (name == "elements" || name == "constants") {
    shape.element_bytes = 8;
    shape.element_words = {{0, ""}};
  }
  return shape;
}

}  // namespace

std::uint64_t Objects::word(const Candidate& object, std::uint64_t index) const {
  return view_.word(object.at + index * 8).value_or(0);
}

std::optional<Objects::Candidate> Objects::candidate(heap::ObjectRef ref) const {
  const heap::Block& block = view_.heap().blocks()[ref.block];
  const std::uint64_t header = view_.heap().word_at(ref, 0).value_or(0);
  Candidate object{.at = view_.heap().address(ref).value,
                   .bytes = block.object_bytes,
                   .number = static_cast<std::uint8_t>(header),
                   .is_atomic = block.is_atomic()};
  object.type = type_of(facts_, object.number);
  if (object.type == nullptr || facts_.size_of(object.number) == 0) return std::nullopt;
  // The collector clears what may hold pointers, and few types have data in these bytes.
  const bool is_readtable = object.number == facts_.symbol + kReadtable;
  const std::uint64_t never_set = is_readtable ? 0xff00 : 0xffff'ffff'0000'ff00;
  if (!object.is_atomic && (header & never_set) != 0) return std::nullopt;
  return object;
}

bool Objects::has_size(const Candidate& object) const {
  const std::uint64_t size = facts_.size_of(object.number);
  if (object.is_atomic == object.type->is_atomic) return fits(object.bytes, size);
  if (!object.is_atomic || !object.type->is_compact || object.bytes < size) return false;
  // What follows is its own contents, which it points to.
  const std::uint64_t contents = word(object, object.number == kBignum ? 2 : 4);
  return contents - object.at >= size && contents - object.at < size + 16;
}

bool Objects::has_values(const Candidate& object) const {
  if (object.is_atomic || facts_.size_of(object.number) != object.type->bytes) return true;
  for (std::size_t i = 0; i < object.type->fields.size(); ++i) {
    if (object.type->fields[i].kind != FieldKind::Value) continue;
    if (!is_value(view_, word(object, i + 1))) return false;
  }
  return true;
}

std::optional<runtimes::ShapeNumber> Objects::read(heap::ObjectRef ref, Parts& parts) {
  const auto object = candidate(ref);
  if (!object || !has_size(*object) || !has_values(*object)) return std::nullopt;
  if (object->number == facts_.symbol + kInstance) return read_instance(*object, parts);
  if (!object->is_atomic) add_parts(*object, parts);
  return shape_of(*object->type);
}

bool Objects::is_cons(heap::ObjectRef ref) const {
  const heap::Block& block = view_.heap().blocks()[ref.block];
  if (block.object_bytes != 16 || block.is_atomic()) return false;
  return is_value(view_, view_.heap().word_at(ref, 0).value_or(0)) &&
         is_value(view_, view_.heap().word_at(ref, 8).value_or(0));
}

void Objects::add_parts(const Candidate& object, Parts& parts) {
  if (facts_.size_of(object.number) != object.type->bytes) return;
  for (std::size_t i = 0; i < object.type->fields.size(); ++i) {
    const Field& field = object.type->fields[i];
    const std::uint64_t at = word(object, i + 1);
    if (field.kind != FieldKind::Part || at == 0) continue;
    parts.push_back({at, 1, names_.intern(part_shape(*object.type, field)), true});
  }
}

runtimes::ShapeNumber Objects::shape_of(const KnownType& type) {
  const auto [at, is_new] = shapes_.try_emplace(&type);
  if (!is_new) return at->second;
  Shape shape{.name = type.name};
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const Field& field = type.fields[i];
    if (field.name != nullptr) shape.words.push_back({(i + 1) * 8, field.name});
  }
  at->second = names_.intern(std::move(shape));
  return at->second;
}

std::optional<runtimes::ShapeNumber> Objects::read_instance(const Candidate& object, Parts& parts) {
  const std::uint64_t length = word(object, kInstanceLength);
  const std::uint64_t at = word(object, kInstanceClass);
  if (length > kMostSlots) return std::nullopt;
  const auto [known, is_new] = classes_.try_emplace(at);
  if (is_new) known->second = read_class(at, object);
  if (!known->second) return std::nullopt;
  parts.push_back({word(object, kInstanceSlots), std::max<std::uint64_t>(length, 1) * 8,
                   known->second->slots, true});
  return known->second->instance;
}

std::string Objects::class_name(std::uint64_t at) const {
  if (at == 0 || at % 8 != 0) return {};
  const auto header = view_.word(at);
  if (!header || static_cast<std::uint8_t>(*header) != facts_.symbol + kInstance) return {};
  const std::uint64_t slots = view_.word(at + kInstanceSlots * 8).value_or(0);
  const auto name = slots != 0 ? view_.word(slots + kClassNameSlot * 8) : std::nullopt;
  return name ? symbol_name(facts_, view_, *name) : std::string();
}

std::optional<Objects::Class> Objects::read_class(std::uint64_t at, const Candidate& instance) {
  const std::string name = class_name(at);
  if (name.empty()) return std::nullopt;
  Shape slots = runtimes::part_of(name, "slots");
  const auto names = slot_names(instance);
  for (std::size_t i = 0; i < names.size(); ++i) slots.words.push_back({i * 8, names[i]});
  Shape shape{.name = name,
              .words = {{kInstanceClass * 8, "class"},
                        {kInstanceSlotList * 8, "slot-definitions"},
                        {kInstanceSlots * 8, "slots"}}};
  return Class{names_.intern(std::move(shape)), names_.intern(std::move(slots))};
}

// A list with an entry for each slot: a symbol, a list that begins with one, or the definition of a
// slot, whose own first slot is its name.
std::vector<std::string> Objects::slot_names(const Candidate& instance) const {
  const auto list =
      list_of(view_, word(instance, kInstanceSlotList), word(instance, kInstanceLength));
  std::vector<std::string> names;
  for (std::uint64_t entry : list) {
    if (const std::uint64_t cons = cons_of(entry)) entry = view_.word(cons).value_or(0);
    std::string name = symbol_name(facts_, view_, entry);
    if (name.empty() && entry % 8 == 0 && entry != 0) {
      const std::uint64_t slots = view_.word(entry + kInstanceSlots * 8).value_or(0);
      name = symbol_name(facts_, view_, slots != 0 ? view_.word(slots).value_or(0) : 0);
    }
    if (name.empty()) return {};
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace heapattach::ecl
