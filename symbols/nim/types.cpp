#include "symbols/nim/types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "symbols/nim/variants.h"

namespace heapattach::nim {

namespace {

using types::Shape;
using types::Type;
using types::TypeModel;
using types::TypeRef;

constexpr std::string_view kObject = "struct tyObject_";
constexpr std::string_view kSequence = "struct tySequence__";
constexpr std::string_view kTuple = "struct tyTuple__";
constexpr std::string_view kEnum = "enum tyEnum_";
constexpr std::string_view kSuper = "Sup";
constexpr std::string_view kRoot = "struct RootObj";
constexpr std::string_view kAnySequence = "struct TGenericSeq";

// Nim's number types and the C types that they become.
struct Number {
  std::string_view in_c;
  std::string_view name;
};
constexpr std::array kNumbers{Number{"long", "int"},
                              Number{"long long", "int"},
                              Number{"int", "int32"},
                              Number{"short", "int16"},
                              Number{"signed char", "int8"},
                              Number{"unsigned long", "uint"},
                              Number{"unsigned int", "uint32"},
                              Number{"unsigned char", "uint8"},
                              Number{"double", "float"},
                              Number{"float", "float32"}};

bool is_hash(std::string_view text) {
  constexpr std::size_t kLeast = 16;
  constexpr std::size_t kMost = 32;
  return text.size() >= kLeast && text.size() <= kMost &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

// Translates "Env_shopdotnim_greet", the compiler's name for the variables of a closure that the
// procedure greet of shop.nim makes, into "closure of greet". Other names stay as they are.
std::string source_name(std::string name) {
  constexpr std::string_view kVariables = "Env_";
  constexpr std::string_view kFile = "dotnim_";
  const std::size_t file = name.rfind(kFile);
  const bool is_closure = name.starts_with(kVariables) && file != std::string::npos;
  const std::string procedure = is_closure ? name.substr(file + kFile.size()) : "";
  return procedure.empty() ? name : fmt::format("closure of {}", procedure);
}

// Splits "SessioncolonObjectType___bY0…" into "Session" and the hash. `mark` follows the name of an
// object that was declared as "ref object". A name with characters that C does not allow ends in an
// underscore.
std::optional<TypeName> split(std::string_view text, std::string_view mark) {
  const std::size_t end = text.rfind("__");
  if (end == std::string_view::npos || end == 0 || !is_hash(text.substr(end + 2))) {
    return std::nullopt;
  }
  std::string_view name = text.substr(0, end);
  if (name.ends_with('_')) name.remove_suffix(1);
  if (name.ends_with(mark)) name.remove_suffix(mark.size());
  if (name.empty()) return std::nullopt;
  return TypeName{source_name(std::string(name)), std::string(text.substr(end + 2))};
}

bool is_base_of_nim(std::string_view name) {
  return name == kRoot || name == kAnySequence || object_name(name).has_value();
}

// The first member of a structure, if that is its base type; otherwise null.
types::Member* base_of(Type& type, const TypeModel& model) {
  if (type.shape != Shape::Struct || type.members.empty()) return nullptr;
  types::Member& first = type.members.front();
  const bool is_super = first.name == kSuper && first.offset == 0 && !first.is_base &&
                        first.type < model.types().size() &&
                        model[first.type].shape == Shape::Struct;
  return is_super && is_base_of_nim(model[first.type].name) ? &first : nullptr;
}

constexpr std::string_view kRecordMark = "0x";

// The address of a type's information, from what hash_of_record() has made; nothing for one of
// Nim's own hashes.
std::optional<std::uint64_t> record_of(std::string_view hash, const Modules& modules) {
  const Module* const program = modules.main_program();
  if (!hash.starts_with(kRecordMark) || program == nullptr) return std::nullopt;
  hash.remove_prefix(kRecordMark.size());
  std::uint64_t at = 0;
  const auto end = std::from_chars(hash.data(), hash.data() + hash.size(), at, 16);
  if (end.ec != std::errc() || end.ptr != hash.data() + hash.size()) return std::nullopt;
  return program->bias() + at;
}

class Shown {
 public:
  explicit Shown(const TypeModel& model) : model_(model) {}

  ShownNames all() {
    std::map<std::string, int> uses;
    for (const Type& type : model_.types()) {
      if (const auto found = object_name(type.name)) ++uses[found->name];
    }
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      const auto found = object_name(model_[ref].name);
      if (!found) continue;
      constexpr std::size_t kShort = 4;
      names_[ref] = uses[found->name] == 1
                        ? found->name
                        : fmt::format("{} ({})", found->name, found->hash.substr(0, kShort));
    }
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      const std::string_view whole = type_of_branch(model_[ref].name);
      const auto found = whole.empty() ? names_.end() : names_.find(model_.find(whole));
      if (found != names_.end()) names_[ref] = std::string(found->second);
      const std::string_view name = model_[ref].name;
      if (!name.starts_with(kEnum)) continue;
      if (auto values = split(name.substr(kEnum.size()), "")) names_[ref] = std::move(values->name);
    }
    const TypeRef text = model_.find(kString);
    // Overrides any other type with this name.
    if (text != types::kNoType && !names_.empty()) names_[text] = kShownString;
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      if (sequence(ref, 0).empty()) tuple(ref, 0);
    }
    return std::move(names_);
  }

 private:
  std::string of(TypeRef ref, int depth) {
    if (ref >= model_.types().size()) return {};
    const Type& type = model_[ref];
    if (type.shape == Shape::Pointer) return of(type.target, depth);
    if (const std::string name = sequence(ref, depth); !name.empty()) return name;
    if (const std::string name = tuple(ref, depth); !name.empty()) return name;
    const auto known = names_.find(ref);
    if (known != names_.end()) return known->second;
    const auto* const number = std::find_if(
        kNumbers.begin(), kNumbers.end(), [&](const Number& one) { return one.in_c == type.name; });
    return number != kNumbers.end() ? std::string(number->name) : type.name;
  }

  // The name of a tuple, such as "tuple[int, Session]"; empty if the type is not one.
  std::string tuple(TypeRef ref, int depth) {
    const Type& type = model_[ref];
    if (!type.name.starts_with(kTuple) || type.members.empty() || depth > kDeepestTuple) {
      return {};
    }
    std::string all;
    for (const types::Member& member : type.members) {
      if (!all.empty()) all += ", ";
      all += of(member.type, depth + 1);
      if (all.size() > kLongestTuple) return {};
    }
    return names_[ref] = fmt::format("tuple[{}]", all);
  }

  // The name of a sequence, such as "seq[Session]"; empty if the type is not one.
  std::string sequence(TypeRef ref, int depth) {
    const Type& type = model_[ref];
    if (!type.name.starts_with(kSequence) || type.members.empty() || depth > kDeepest) return {};
    const TypeRef data = type.members.back().type;
    if (data >= model_.types().size() || model_[data].shape != Shape::Array) return {};
    const std::string element = of(model_[data].target, depth + 1);
    if (element.empty()) return {};
    return names_[ref] = fmt::format("seq[{}]", element);
  }

  static constexpr int kDeepest = 8;
  static constexpr int kDeepestTuple = 3;
  static constexpr std::size_t kLongestTuple = 200;

  const TypeModel& model_;
  ShownNames names_;
};

}  // namespace

std::optional<TypeName> object_name(std::string_view c_name) {
  if (!c_name.starts_with(kObject)) return std::nullopt;
  return split(c_name.substr(kObject.size()), "colonObjectType");
}

std::optional<TypeName> info_name(std::string_view symbol) {
  if (!symbol.starts_with("NTI") || !symbol.ends_with('_')) return std::nullopt;
  symbol.remove_prefix(3);
  symbol.remove_suffix(1);
  return split(symbol, "58objecttype");
}

std::string enum_name(const TypeName& name) {
  return fmt::format("{}{}__{}", kEnum, name.name, name.hash);
}

std::string hash_of_record(std::uint64_t at, const Modules& modules) {
  const Module* const program = modules.main_program();
  return fmt::format("{}{:016x}", kRecordMark, at - (program != nullptr ? program->bias() : 0));
}

bool describe_bases(TypeModel& model) {
  std::vector<types::Member*> bases;
  for (TypeRef ref = 0; ref < model.types().size(); ++ref) {
    if (types::Member* const base = base_of(model[ref], model)) bases.push_back(base);
  }
  for (types::Member* const base : bases) {
    base->is_base = true;
    base->name.clear();
  }
  return !bases.empty();
}

ShownNames shown_names(const TypeModel& model) {
  return Shown(model).all();
}

FirstWords first_words(const Modules& modules, const TypeModel& model) {
  std::unordered_map<std::string, std::string> by_hash;
  for (const Type& type : model.types()) {
    if (const auto found = object_name(type.name)) by_hash.emplace(found->hash, type.name);
  }
  FirstWords words;
  for (const auto& [hash, name] : by_hash) {
    if (const auto at = record_of(hash, modules)) words.emplace_back(*at, name);
  }
  for (const Module& module : modules.all()) {
    for (const Symbol& symbol : module.symbols_with_prefix("NTI")) {
      const auto found = symbol.is_function ? std::nullopt : info_name(symbol.name);
      if (!found) continue;
      const auto known = by_hash.find(found->hash);
      words.emplace_back(symbol.address.value,
                         known != by_hash.end() ? known->second : found->name);
    }
  }
  return words;
}

}  // namespace heapattach::nim
