#include "symbols/ecl/names.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/ecl/environments.h"
#include "symbols/ecl/facts.h"
#include "symbols/ecl/types.h"
#include "symbols/ecl/values.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"
#include "symbols/runtimes/parts.h"

namespace heapattach::ecl {

namespace {

// Reads the objects that contain their type. The type alone is not trusted: the object's size and
// whether it may hold pointers must match the type, and its other words must be plausible.
class Objects {
 public:
  // Borrows its arguments.
  Objects(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names)
      : facts_(facts), view_(view), names_(names) {}

  // The shape of the object; nothing if it does not contain a type. Adds its parts to `parts`.
  [[nodiscard]] std::optional<runtimes::ShapeNumber> read(heap::ObjectRef ref,
                                                          std::vector<runtimes::Part>& parts);
  // Whether the object is a cons, which has no type: an object of exactly two values.
  [[nodiscard]] bool is_cons(heap::ObjectRef ref) const;

 private:
  using ShapeNumber = runtimes::ShapeNumber;
  using Parts = std::vector<runtimes::Part>;

  struct Candidate {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;  // the size of the object
    std::uint8_t number = 0;  // the number of its type
    const KnownType* type = nullptr;
    bool is_atomic = false;
  };
  struct Class {
    ShapeNumber instance = 0;
    ShapeNumber slots = 0;
  };

  [[nodiscard]] std::optional<Candidate> candidate(heap::ObjectRef ref) const;
  [[nodiscard]] bool has_size(const Candidate& object) const;
  [[nodiscard]] bool has_values(const Candidate& object) const;
  [[nodiscard]] std::uint64_t word(const Candidate& object, std::uint64_t index) const;
  std::optional<ShapeNumber> read_instance(const Candidate& object, Parts& parts);
  void add_parts(const Candidate& object, Parts& parts);
  std::optional<Class> read_class(std::uint64_t at, const Candidate& instance);
  [[nodiscard]] std::vector<std::string> slot_names(const Candidate& instance) const;
  [[nodiscard]] std::string class_name(std::uint64_t at) const;
  ShapeNumber shape_of(const KnownType& type);

  const Facts& facts_;
  const runtimes::HeapView& view_;
  runtimes::ObjectNames& names_;
  std::unordered_map<const KnownType*, ShapeNumber> shapes_;
  std::unordered_map<std::uint64_t, std::optional<Class>> classes_;  // by address
};

using runtimes::fits;
using runtimes::Shape;

// Words of an instance. A class is an instance, too; its slots begin with those that every class
// has.
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
  // The collector clears memory that may contain pointers, and few types have data in these bytes.
  const bool is_readtable = object.number == facts_.symbol + kReadtable;
  const std::uint64_t never_set = is_readtable ? 0xff00 : 0xffff'ffff'0000'ff00;
  if (!object.is_atomic && (header & never_set) != 0) return std::nullopt;
  return object;
}

bool Objects::has_size(const Candidate& object) const {
  const std::uint64_t size = facts_.size_of(object.number);
  if (object.is_atomic == object.type->is_atomic) return fits(object.bytes, size);
  if (!object.is_atomic || !object.type->is_compact || object.bytes < size) return false;
  // A compact object points to its own contents, which are in the words after it.
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

// Reads the names of an instance's slots. The list has an entry for each slot: a symbol, a list
// that begins with a symbol, or the definition of a slot, whose first slot is the name.
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

using runtimes::ObjectNames;
using runtimes::Part;
using runtimes::ShapeNumber;

class Namer {
 public:
  Namer(const Facts& facts, const runtimes::HeapView& view, ObjectNames& names)
      : facts_(facts),
        view_(view),
        heap_(view.heap()),
        names_(names),
        objects_(facts, view, names_),
        parts_(view, names_) {}

  void run() {
    std::vector<Part> found;
    std::vector<std::pair<std::uint64_t, ShapeNumber>> said;
    for_each([&](heap::ObjectRef ref) {
      const auto shape = objects_.read(ref, found);
      if (shape) said.emplace_back(heap_.number(ref), *shape);
    });
    // An object's contents have no type, even if their first word looks like one. So name the parts
    // first.
    for (const Part& part : found) parts_.claim(part);
    for (const auto& [number, shape] : said) {
      if (!names_.has(number)) names_.set(number, shape);
    }
    name_conses();
    name_environments();
    parts_.name_memory();
  }

 private:
  template <class Visit>
  void for_each(const Visit& visit) const {
    const auto blocks = static_cast<std::uint32_t>(heap_.blocks().size());
    heap::for_each_object(heap_, view_.listed(), 0, blocks, visit);
  }

  void name_conses() {
    const ShapeNumber cons = names_.intern({.name = "cons", .words = {{0, "car"}, {8, "cdr"}}});
    for_each([&](heap::ObjectRef from) {
      heap_.for_each_word(from, [&](std::uint64_t, std::uint64_t word) {
        const auto to = view_.object_at(cons_of(word));
        if (!to || names_.has(heap_.number(*to))) return;
        if (objects_.is_cons(*to)) names_.set(heap_.number(*to), cons);
      });
    });
  }

  // Names the memory of ECL's threads: their stacks, caches and buffers.
  void name_environments() {
    const ShapeNumber stack = names_.intern(runtimes::part_of("process", "stack"));
    const ShapeNumber memory = names_.intern(runtimes::part_of("process", "memory"));
    for (const Environment& environment : environments(facts_, heap_.blocks(), view_.captured())) {
      for (const Range& range : environment.stacks)
        parts_.claim({range.start.value, 16, stack, true});
      name_memory_at(environment.range, memory);
    }
    name_memory_at(facts_.core, names_.intern(runtimes::part_of("ecl", "memory")));
  }

  void name_memory_at(const Range& range, ShapeNumber shape) {
    for (std::uint64_t offset = 0; offset < range.bytes; offset += 8) {
      const auto word = view_.word(range.start.value + offset);
      if (word) parts_.claim({*word, 16, shape, true});
    }
  }

  const Facts& facts_;
  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  ObjectNames& names_;
  Objects objects_;
  runtimes::Parts parts_;
};

}  // namespace

void name_objects(const Facts& facts,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(facts, view, names).run();
}

}  // namespace heapattach::ecl
