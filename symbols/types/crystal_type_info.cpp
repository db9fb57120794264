#include "symbols/types/crystal_type_info.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/crystal/type_names.h"
#include "symbols/types/model_checks.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {
namespace {

struct NumberType {
  std::string_view name;
  std::uint64_t bytes;
  Encoding encoding;
};
constexpr std::array<NumberType, 15> kNumbers = {{
    {"Int8", 1, Encoding::Signed},
    {"UInt8", 1, Encoding::Unsigned},
    {"Int16", 2, Encoding::Signed},
    {"UInt16", 2, Encoding::Unsigned},
    {"Int32", 4, Encoding::Signed},
    {"UInt32", 4, Encoding::Unsigned},
    {"Int64", 8, Encoding::Signed},
    {"UInt64", 8, Encoding::Unsigned},
    {"Int128", 16, Encoding::Signed},
    {"UInt128", 16, Encoding::Unsigned},
    {"Float32", 4, Encoding::Float},
    {"Float64", 8, Encoding::Float},
    {"Bool", 1, Encoding::Boolean},
    {"Char", 4, Encoding::Character},
    {"Symbol", 4, Encoding::Symbol},
}};

// Describes a Crystal type without contents: a number, Nil, or a type id (a class as a value).
// Returns false, with `type` unchanged, if `name` is none of these.
bool describe_plain(Type& type, std::string_view name) {
  if (name == "Nil" || name == "NoReturn") {
    type.bytes = 0;
    return true;
  }
  if (name.ends_with(".class") || name.ends_with(":Module")) {  // a type id
    type.shape = Shape::Number;
    type.encoding = Encoding::Unsigned;
    type.bytes = 4;
    return true;
  }
  const auto number = std::find_if(kNumbers.begin(), kNumbers.end(),
                                   [&](const NumberType& n) { return n.name == name; });
  if (number == kNumbers.end()) return false;
  type.shape = Shape::Number;
  type.encoding = number->encoding;
  type.bytes = number->bytes;
  return true;
}

constexpr int kDeepest = 32;

using Bytes = std::optional<std::uint64_t>;

bool is_union(std::string_view name) {
  return crystal::split_list(name, " | ").size() > 1 ||
         (name.starts_with('(') && name.ends_with(')'));
}

// The text between "Tuple(" and ")"; nothing if `name` is not a tuple.
std::optional<std::string_view> arguments(std::string_view name, std::string_view generic) {
  if (!name.starts_with(generic) || !name.ends_with(')')) return std::nullopt;
  return name.substr(generic.size(), name.size() - generic.size() - 1);
}

std::uint64_t align_up(std::uint64_t at, std::uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

class Builder {
 public:
  explicit Builder(const crystal::TypeTable& table) {
    for (const crystal::Type& type : table.types()) {
      if (!type.name.empty()) classes_.emplace(type.name, &type);
    }
    for (const crystal::Type& type : table.values()) values_.emplace(type.name, &type);
  }

  TypeModel build(const crystal::TypeTable& table) {
    for (const crystal::Type& type : table.types()) {
      if (!type.name.empty()) add_class(type);
    }
    for (const crystal::Type& type : table.values()) ref(type.name, type.instance_bytes, 0);
    make_sound(model_);
    return std::move(model_);
  }

 private:
  void add_class(const crystal::Type& type) {
    const TypeRef at = model_.intern(type.name);
    model_[at].has_header = true;
    model_[at].bytes = type.instance_bytes;
    for (const crystal::KnownFrom source : type.known_from) {
      model_[at].known_from.emplace_back(crystal::to_string(source));
    }
    const bool is_laid_out = std::find(type.known_from.begin(), type.known_from.end(),
                                       crystal::KnownFrom::TypeInfo) != type.known_from.end();
    if (!is_laid_out) return;
    std::vector<Member> members = members_of(type.own_fields, 0);
    model_[at].shape = Shape::Struct;
    model_[at].members = std::move(members);
  }

  std::vector<Member> members_of(const std::vector<crystal::Field>& fields, int depth) {
    std::vector<Member> members;
    for (const crystal::Field& field : fields) {
      Member member;
      member.name = field.name;
      member.offset = field.offset;
      member.type = ref(field.type, field.bytes, depth + 1);
      members.push_back(std::move(member));
    }
    return members;
  }

  // The type of a field or element with this type name, and its size if its holder knows it.
  TypeRef ref(std::string_view written, Bytes bytes, int depth) {
    std::string name = crystal::canonical_name(written);
    if (depth > kDeepest || name.empty() || name == "Void") return kNoType;
    if (is_union(name)) return union_of(written, std::move(name), bytes, depth);
    if (classes_.contains(name)) return reference(name);
    const TypeRef at = model_.intern(name);
    if (!started_.insert(at).second) {
      if (!model_[at].bytes) model_[at].bytes = bytes;
      return at;
    }
    model_[at].known_from = {"type-info"};
    const auto known = values_.find(name);
    if (known != values_.end()) bytes = known->second->instance_bytes;
    model_[at].bytes = bytes;
    if (describe_plain(model_[at], name) || describe_generic(at, name, depth)) return at;
    if (known != values_.end() && !known->second->own_fields.empty()) {
      std::vector<Member> members = members_of(known->second->own_fields, depth);
      model_[at].shape = Shape::Struct;
      model_[at].members = std::move(members);
      return at;
    }
    if (written.ends_with('+'))
      return reference(name);  // an instance of this abstract class or of a subclass
    // This is an enumeration, a class that includes a module, or a type of a C library.
    if (bytes && *bytes > 0 && *bytes < kWordBytes) model_[at].shape = Shape::Number;
    return at;
  }

  TypeRef reference(const std::string& class_name) {
    const TypeRef target = model_.intern(class_name);
    const TypeRef at = model_.intern(crystal::reference_to(class_name));
    Type& type = model_[at];
    type.shape = Shape::Pointer;
    type.bytes = kWordBytes;
    type.target = target;
    type.is_reference = true;
    type.known_from = {"type-info"};
    return at;
  }

  bool describe_generic(TypeRef at, std::string_view name, int depth) {
    if (const auto target = arguments(name, "Pointer(")) {
      const TypeRef to = ref(*target, std::nullopt, depth + 1);
      model_[at].shape = Shape::Pointer;
      model_[at].bytes = kWordBytes;
      model_[at].target = to;
      return true;
    }
    if (const auto list = arguments(name, "StaticArray(")) {
      const auto parts = crystal::split_list(*list, ", ");
      std::uint64_t count = 0;
      const std::string_view last = parts.back();
      const auto read = std::from_chars(last.data(), last.data() + last.size(), count);
      if (parts.size() != 2 || read.ec != std::errc()) return false;
      const TypeRef element = ref(parts.front(), std::nullopt, depth + 1);
      model_[at].shape = Shape::Array;
      model_[at].target = element;
      model_[at].count = count;
      return true;
    }
    if (const auto list = arguments(name, "Tuple(")) return describe_tuple(at, *list, false, depth);
    if (const auto list = arguments(name, "NamedTuple(")) {
      return describe_tuple(at, *list, true, depth);
    }
    if (!arguments(name, "Proc(")) return false;
    describe_proc(at);
    return true;
  }

  void describe_proc(TypeRef at) {
    const TypeRef code = model_.intern("(code)");
    model_[code].shape = Shape::Code;
    model_[code].bytes = kWordBytes;
    const TypeRef data = ref("Pointer(Void)", kWordBytes, 0);
    model_[at].shape = Shape::Struct;
    model_[at].bytes = 2 * kWordBytes;
    model_[at].members = {{"@pointer", 0, code}, {"@closure_data", kWordBytes, data}};
  }

  bool describe_tuple(TypeRef at, std::string_view list, bool has_names, int depth) {
    std::vector<Member> members;
    std::uint64_t end = 0;
    std::uint64_t widest = 1;
    for (std::string_view part : crystal::split_list(list, ", ")) {
      Member member;
      member.name = fmt::format("[{}]", members.size());
      if (has_names) {
        const std::size_t colon = part.find(": ");
        if (colon == std::string_view::npos) return true;
        member.name = part.substr(0, colon);
        part.remove_prefix(colon + 2);
      }
      member.type = ref(part, std::nullopt, depth + 1);
      if (member.type == kNoType || !model_[member.type].bytes) return true;  // stays opaque
      const std::uint64_t alignment = alignment_of(member.type, 0);
      widest = std::max(widest, alignment);
      member.offset = align_up(end, alignment);
      end = member.offset + *model_[member.type].bytes;
      members.push_back(std::move(member));
    }
    end = align_up(end, widest);
    if (model_[at].bytes.value_or(end) != end) return true;
    model_[at].shape = Shape::Struct;
    model_[at].bytes = end;
    model_[at].members = std::move(members);
    return true;
  }

  std::uint64_t alignment_of(TypeRef at, int depth) const {
    if (at == kNoType || depth > kDeepest) return kWordBytes;
    const Type& type = model_[at];
    if (type.shape == Shape::Array) return alignment_of(type.target, depth + 1);
    std::uint64_t widest = 1;
    if (type.shape == Shape::Union)
      return kWordBytes;  // the value of a mixed union is made of words
    if (type.shape == Shape::Struct) {
      for (const Member& member : type.members) {
        widest = std::max(widest, alignment_of(member.type, depth + 1));
      }
      return widest;
    }
    return std::clamp<std::uint64_t>(type.bytes.value_or(kWordBytes), 1, kWordBytes);
  }

  TypeRef union_of(std::string_view written, std::string name, Bytes bytes, int depth) {
    if (!name.starts_with('(')) name = fmt::format("({})", name);
    const auto parts = crystal::union_parts(name);
    const TypeRef at = model_.intern(name);
    if (!started_.insert(at).second) return at;
    model_[at].known_from = {"type-info"};
    model_[at].bytes = bytes;
    const bool are_references = bytes ? *bytes == kWordBytes : all_references(written);
    if (are_references) {
      const bool is_one = parts.size() == 1;
      const TypeRef target = is_one ? model_.intern(std::string(parts.front())) : kNoType;
      Type& type = model_[at];
      type.shape = Shape::Pointer;
      type.bytes = kWordBytes;
      type.is_reference = true;
      type.target = target;
    } else if (parts.size() == 1 && parts.front().starts_with("Proc(")) {
      describe_proc(at);
    } else {
      describe_mixed(at, parts, depth);
    }
    return at;
  }

  // Whether each part is certainly a class. A plus sign, for a class with subclasses, shows it,
  // too.
  [[nodiscard]] bool all_references(std::string_view written) const {
    const auto parts = crystal::union_parts(written);
    return std::all_of(parts.begin(), parts.end(), [this](std::string_view part) {
      return part.ends_with('+') || classes_.contains(crystal::canonical_name(part));
    });
  }

  // Describes a mixed union: a type id, and the value at the next word.
  void describe_mixed(TypeRef at, const std::vector<std::string_view>& parts, int depth) {
    std::vector<Member> values;
    std::uint64_t largest = 0;
    bool are_known = true;
    std::string list;
    for (const std::string_view part : parts) {
      Member member;
      member.name = part;
      member.type = ref(part, std::nullopt, depth + 1);
      list += (list.empty() ? "" : " | ") + std::string(part);
      are_known = are_known && member.type != kNoType && model_[member.type].bytes;
      if (are_known) largest = std::max(largest, *model_[member.type].bytes);
      values.push_back(std::move(member));
    }
    Bytes bytes = model_[at].bytes;
    if (!bytes && are_known) bytes = kWordBytes + align_up(largest, kWordBytes);
    model_[at].bytes = bytes;
    if (!bytes || *bytes < 2 * kWordBytes) return;
    const TypeRef id = ref("UInt32", 4, 0);
    const TypeRef value = model_.intern(fmt::format("(value of {})", list));
    model_[value].shape = Shape::Union;
    model_[value].bytes = *bytes - kWordBytes;
    model_[value].members = std::move(values);
    model_[value].known_from = {"type-info"};
    model_[at].shape = Shape::Struct;
    model_[at].members = {{"type_id", 0, id}, {"union", kWordBytes, value}};
  }

  std::unordered_map<std::string_view, const crystal::Type*> classes_;
  std::unordered_map<std::string_view, const crystal::Type*> values_;
  std::unordered_set<TypeRef> started_;
  TypeModel model_;
};

}  // namespace

TypeModel types_from_table(const crystal::TypeTable& table) {
  return Builder(table).build(table);
}

}  // namespace heapattach::types
