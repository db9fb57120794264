#include "symbols/vlang/types.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace heapattach::vlang {

namespace {

using types::kNoType;
using types::Member;
using types::Shape;
using types::Type;
using types::TypeModel;
using types::TypeRef;

constexpr std::string_view kArray = "Array_";
constexpr std::string_view kMap = "Map_";
constexpr std::string_view kStruct = "struct ";
constexpr std::string_view kPointer = "_ptr";
constexpr std::string_view kBuffer = "buffer of ";
constexpr std::string_view kManagedBuffer = "managed buffer of ";
constexpr std::string_view kEntries = "entries of ";
constexpr std::string_view kValue = "value of ";
constexpr std::string_view kTypeNumber = "_typ";
constexpr int kDeepest = 8;

// V's simple types, and their types in C without typedefs.
struct Simple {
  std::string_view name;
  std::string_view in_c;
};
constexpr std::array kSimple{Simple{"int", "int"},
                             Simple{"i8", "signed char"},
                             Simple{"i16", "short"},
                             Simple{"i32", "int"},
                             Simple{"i64", "long"},
                             Simple{"isize", "long"},
                             Simple{"u8", "unsigned char"},
                             Simple{"byte", "unsigned char"},
                             Simple{"u16", "unsigned short"},
                             Simple{"u32", "unsigned int"},
                             Simple{"rune", "unsigned int"},
                             Simple{"u64", "unsigned long"},
                             Simple{"usize", "unsigned long"},
                             Simple{"f32", "float"},
                             Simple{"f64", "double"},
                             Simple{"bool", "_Bool"},
                             Simple{"char", "char"},
                             Simple{"voidptr", "void *"}};

bool has_members(const Type& type, std::initializer_list<std::string_view> names) {
  return type.shape == Shape::Struct &&
         std::all_of(names.begin(), names.end(), [&](std::string_view name) {
           return std::any_of(type.members.begin(), type.members.end(),
                              [&](const Member& member) { return member.name == name; });
         });
}

// Whether the program has V's own string and array.
bool is_v(const TypeModel& model) {
  const TypeRef text = model.find(kString);
  const TypeRef array = model.find("struct array");
  return text != kNoType && array != kNoType &&
         has_members(model[text], {"str", "len", "is_lit"}) &&
         has_members(model[array], {"data", "len", "cap", "element_size"});
}

TypeRef pointer_to(TypeModel& model, const std::string& name, TypeRef target) {
  const TypeRef pointer = model.intern(name);
  model[pointer].shape = Shape::Pointer;
  model[pointer].bytes = 8;
  model[pointer].target = target;
  return pointer;
}

// The names in V, in which an element's type is written in C.
class InV {
 public:
  explicit InV(TypeModel& model) : model_(model) {}

  // The type of that name in a typedef's name; kNoType: unknown.
  TypeRef type(std::string_view name, int depth = 0) {
    if (depth > kDeepest || name.empty()) return kNoType;
    if (name.ends_with(kPointer)) {
      const TypeRef target = type(name.substr(0, name.size() - kPointer.size()), depth + 1);
      return target == kNoType ? kNoType
                               : pointer_to(model_, pointer_name(model_[target].name), target);
    }
    for (const Simple& simple : kSimple) {
      if (simple.name == name) return known(simple.in_c);
    }
    if (const TypeRef found = known(fmt::format("struct {}", name)); found != kNoType) return found;
    return known(name);
  }

  // The types of a map's keys and values: "string_main__User". The name is the only evidence and
  // separates them by an underscore, which both may contain.
  std::optional<std::pair<TypeRef, TypeRef>> key_and_value(std::string_view names) {
    std::optional<std::pair<TypeRef, TypeRef>> found;
    for (std::size_t at = names.find('_'); at != std::string_view::npos;
         at = names.find('_', at + 1)) {
      const TypeRef key = type(names.substr(0, at));
      if (key == kNoType) continue;
      const TypeRef value = type(names.substr(at + 1));
      if (value == kNoType) continue;
      if (found) return std::nullopt;
      found = {key, value};
    }
    return found;
  }

 private:
  static std::string pointer_name(const std::string& target) {
    return target.ends_with('*') ? target + '*' : target + " *";
  }
  [[nodiscard]] TypeRef known(std::string_view name) const {
    const TypeRef found = model_.find(name);
    const bool is_described = found != kNoType && model_[found].shape != Shape::Opaque;
    return is_described ? found : kNoType;
  }

  TypeModel& model_;
};

// A typedef of an array or a map.
std::optional<TypeRef> structure_of(const TypeModel& model, const Type& type) {
  if (type.shape != Shape::Struct || type.members.size() != 1 || !type.members.front().is_base) {
    return std::nullopt;
  }
  const TypeRef base = type.members.front().type;
  if (base >= model.types().size() || !model[base].name.starts_with(kStruct)) return std::nullopt;
  if (!is_container(type.name, model[base].name.substr(kStruct.size()))) return std::nullopt;
  return base;
}

// Whether arrays have a flag for buffers with a header.
bool has_managed_arrays(const TypeModel& model) {
  const TypeRef flags = model.find("ArrayFlags");
  if (flags == kNoType) return false;
  const auto& all = model[flags].enumerators;
  return std::any_of(all.begin(), all.end(), [](const types::Enumerator& one) {
    return one.name == "ArrayFlags__managed";
  });
}

// Makes `member` a pointer to a buffer of `owner`.
void lead_to_buffer(TypeModel& model,
                    std::vector<Member>& members,
                    std::string_view member,
                    const std::string& owner,
                    TypeRef element,
                    std::string_view kind = kBuffer) {
  for (Member& one : members) {
    if (one.name != member || one.type >= model.types().size()) continue;
    if (model[one.type].shape != Shape::Pointer) continue;
    one.type = pointer_to(model, fmt::format("{}{} {}", kind, owner, member), element);
  }
}

void describe_array(TypeModel& model, TypeRef at, TypeRef base) {
  const std::string name = model[at].name;
  std::vector<Member> members = model[base].members;
  const TypeRef element = InV(model).type(std::string_view(name).substr(kArray.size()));
  const std::string_view kind = has_managed_arrays(model) ? kManagedBuffer : kBuffer;
  if (element != kNoType) lead_to_buffer(model, members, "data", name, element, kind);
  model[at].members = std::move(members);
}

// A map keeps its keys in one buffer and its values in another.
void describe_map(TypeModel& model, TypeRef at, TypeRef base) {
  const std::string name = model[at].name;
  std::vector<Member> members = model[base].members;
  const auto types = InV(model).key_and_value(std::string_view(name).substr(kMap.size()));
  for (Member& member : members) {
    if (!types || member.name != "key_values" || member.type >= model.types().size()) continue;
    Type entries = model[member.type];
    lead_to_buffer(model, entries.members, "keys", name, types->first);
    lead_to_buffer(model, entries.members, "values", name, types->second);
    const TypeRef own = model.intern(fmt::format("{}{}", kEntries, name));
    entries.name = model[own].name;
    model[own] = std::move(entries);
    member.type = own;
  }
  model[at].members = std::move(members);
}

// In C the entries of every map are bytes, whatever they are in V.
void forget_entries(TypeModel& model) {
  const TypeRef entries = model.find("struct DenseArray");
  if (entries == kNoType) return;
  const TypeRef unknown = pointer_to(model, "void *", kNoType);
  for (Member& member : model[entries].members) {
    if (member.name == "keys" || member.name == "values") member.type = unknown;
  }
}

bool is_any_pointer(const TypeModel& model, TypeRef ref) {
  if (ref >= model.types().size()) return false;
  const Type& type = model[ref];
  return type.shape == Shape::Pointer ||
         (type.shape == Shape::Union && !type.members.empty() &&
          std::all_of(type.members.begin(), type.members.end(), [&](const Member& member) {
            return member.type < model.types().size() && model[member.type].shape == Shape::Pointer;
          }));
}

// A sum type or an interface: a pointer to the value, as any of its types, and a number that says
// which. An interface also has pointers to the value's fields.
bool is_of_several_types(const TypeModel& model, const Type& type) {
  return type.shape == Shape::Struct && type.members.size() >= 2 && type.members[0].offset == 0 &&
         is_any_pointer(model, type.members[0].type) &&
         model[type.members[0].type].shape == Shape::Union && type.members[1].name == kTypeNumber;
}

// The types that a value may have: the targets of the pointers of a union. That of an interface
// begins with one without a type.
std::vector<Member> variants_of(const TypeModel& model, const Type& several) {
  std::vector<Member> variants;
  for (const Member& member : model[several.members.front().type].members) {
    const TypeRef target = model[member.type].target;
    if (target < model.types().size() && member.name.starts_with('_')) {
      variants.push_back({member.name, 0, target});
    }
  }
  return variants;
}

void describe_several(TypeModel& model, TypeRef at) {
  const TypeRef value = model.intern(fmt::format("{}{}", kValue, model[at].name));
  model[value].members = variants_of(model, model[at]);
  const TypeRef pointer = pointer_to(model, fmt::format("{} *", model[value].name), value);
  const TypeRef unknown = pointer_to(model, "void *", kNoType);
  std::vector<Member> members = model[at].members;
  members.front() = {"value", 0, pointer};
  for (Member& member : members) {
    if (member.offset != 0 && is_any_pointer(model, member.type)) member.type = unknown;
  }
  model[at].members = std::move(members);
}

class Shown {
 public:
  explicit Shown(const TypeModel& model) : model_(model) {}

  ShownNames all() {
    if (!is_v(model_)) return {};
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      std::string name = in_v(ref, 0);
      if (name != model_[ref].name) names_.emplace(ref, std::move(name));
    }
    return std::move(names_);
  }

 private:
  std::string in_v(TypeRef ref, int depth) const {
    if (ref >= model_.types().size() || depth > kDeepest) return "?";
    const Type& type = model_[ref];
    const std::string_view name = type.name;
    if (name == kString) return std::string(kShownString);
    if (name.starts_with(kValue)) {
      const TypeRef holder = model_.find(name.substr(kValue.size()));
      return fmt::format("(value of {})", in_v(holder, depth + 1));
    }
    if (type.shape == Shape::Pointer && owner_of_buffer(name).empty() && is_named(type.target)) {
      return fmt::format("&{}", in_v(type.target, depth + 1));
    }
    if (type.shape == Shape::Number) return number(name);
    if (type.shape != Shape::Struct) return type.name;
    if (name.starts_with(kArray)) {
      const std::string element = buffer(type, "data", depth);
      return element.empty() ? type.name : fmt::format("[]{}", element);
    }
    if (name.starts_with(kMap)) return map(type, depth);
    return name.starts_with(kStruct) ? with_module(name) : type.name;
  }

  // Whether a type has a name in V, so that a pointer to it has one.
  bool is_named(TypeRef ref) const {
    if (ref >= model_.types().size()) return false;
    const Type& type = model_[ref];
    return type.shape == Shape::Struct && in_v(ref, 1) != type.name;
  }

  static std::string number(std::string_view in_c) {
    const auto* const found = std::find_if(
        kSimple.begin(), kSimple.end(), [&](const Simple& simple) { return simple.in_c == in_c; });
    return std::string(found != kSimple.end() ? found->name : in_c);
  }

  // "struct main__Session" is main.Session. Names that begin with an underscore are C's.
  static std::string with_module(std::string_view tagged) {
    const std::string_view name = tagged.substr(kStruct.size());
    if (name.starts_with('_') || name.find("__") == std::string_view::npos) {
      return std::string(tagged);
    }
    constexpr std::string_view kArguments = "thread_arg_";
    if (name.starts_with(kArguments)) {
      return fmt::format("(arguments of thread {})", dotted(name.substr(kArguments.size())));
    }
    return dotted(name);
  }

  static std::string dotted(std::string_view name) {
    std::string result(name);
    for (std::size_t at = 0; (at = result.find("__", at)) != std::string::npos; ++at) {
      result.replace(at, 2, ".");
    }
    return result;
  }

  std::string buffer(const Type& type, std::string_view member, int depth) const {
    for (const Member& one : type.members) {
      if (one.name != member || one.type >= model_.types().size()) continue;
      const Type& pointer = model_[one.type];
      if (!owner_of_buffer(pointer.name).empty()) return in_v(pointer.target, depth + 1);
    }
    return {};
  }

  std::string map(const Type& type, int depth) const {
    for (const Member& member : type.members) {
      if (member.name != "key_values" || member.type >= model_.types().size()) continue;
      const std::string key = buffer(model_[member.type], "keys", depth);
      const std::string value = buffer(model_[member.type], "values", depth);
      if (!key.empty() && !value.empty()) return fmt::format("map[{}]{}", key, value);
    }
    return type.name;
  }

  const TypeModel& model_;
  ShownNames names_;
};

}  // namespace

bool is_container(std::string_view typedef_name, std::string_view tag) {
  return (typedef_name.starts_with(kArray) && tag == "array") ||
         (typedef_name.starts_with(kMap) && tag == "map");
}

namespace {

// "main__Color__green" is green, as the program calls it. Names of enumerations begin with a
// capital.
void shorten_names(std::vector<types::Enumerator>& values) {
  constexpr std::string_view kBetween = "__";
  if (values.empty()) return;
  const std::string first = values.front().name;
  const std::size_t at = first.rfind(kBetween);
  if (at == std::string::npos || first.starts_with('_')) return;  // also constants of interfaces
  const std::string prefix = first.substr(0, at + kBetween.size());
  const std::size_t before = first.rfind(kBetween, at - 1);
  const char letter = first[before == std::string::npos ? 0 : before + kBetween.size()];
  const bool is_of_v = letter >= 'A' && letter <= 'Z' &&
                       std::all_of(values.begin(), values.end(), [&](const auto& one) {
                         return one.name.starts_with(prefix) && one.name.size() > prefix.size();
                       });
  if (!is_of_v) return;
  for (types::Enumerator& one : values) one.name.erase(0, prefix.size());
}

}  // namespace

bool describe(TypeModel& model) {
  if (!is_v(model)) return false;
  const auto count = static_cast<TypeRef>(model.types().size());
  forget_entries(model);
  for (TypeRef ref = 0; ref < count; ++ref) {
    if (is_of_several_types(model, model[ref])) describe_several(model, ref);
  }
  for (TypeRef ref = 0; ref < count; ++ref) {
    const auto base = structure_of(model, model[ref]);
    if (!base) continue;
    if (model[ref].name.starts_with(kArray)) {
      describe_array(model, ref, *base);
    } else {
      describe_map(model, ref, *base);
    }
  }
  const TypeRef text = model.find(kString);
  const TypeRef byte = model.find("unsigned char");
  std::vector<Member> members = model[text].members;
  if (byte != kNoType) lead_to_buffer(model, members, "str", std::string(kString), byte);
  model[text].members = std::move(members);
  for (TypeRef ref = 0; ref < count; ++ref) {
    if (model[ref].shape == Shape::Enumeration) shorten_names(model[ref].enumerators);
  }
  return true;
}

std::string_view owner_of_buffer(std::string_view pointer_name) {
  const bool is_headed = has_header(pointer_name);
  if (!is_headed && !pointer_name.starts_with(kBuffer)) return {};
  pointer_name.remove_prefix(is_headed ? kManagedBuffer.size() : kBuffer.size());
  return pointer_name.substr(0, pointer_name.rfind(' '));
}

std::string_view owner_of_value(std::string_view type_name) {
  return type_name.starts_with(kValue) ? type_name.substr(kValue.size()) : std::string_view();
}

bool has_header(std::string_view pointer_name) {
  return pointer_name.starts_with(kManagedBuffer);
}

ShownNames shown_names(const TypeModel& model) {
  return Shown(model).all();
}

}  // namespace heapattach::vlang
