#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/elf/module.h"
#include "symbols/types/type_model.h"

// The types of a Nim program as its programmers write them. Nim's compiler generates C with names
// such as "tyObject_SessioncolonObjectType___bY0ldn0etn6e2qB9a0Xrexw", which end in a hash of the
// type.
namespace heapattach::nim {

// The name of Nim's string type in a model, and in Nim.
inline constexpr std::string_view kString = "struct NimStringDesc";
inline constexpr std::string_view kShownString = "string";

struct TypeName {
  std::string name;  // "Session"
  std::string hash;  // identifies the type
};

// Translates the C name of an object's structure; nothing for any other name.
[[nodiscard]] std::optional<TypeName> object_name(std::string_view c_name);
// The name of a type from the symbol of its type information; nothing for any other symbol. These
// symbols have no capitals: "session".
[[nodiscard]] std::optional<TypeName> info_name(std::string_view symbol);

// The name in a model for an enumeration, which shown_names() translates.
[[nodiscard]] std::string enum_name(const TypeName& name);

// Marks members named "Sup" as base types, so that a derived type has the base's members: "name"
// instead of "Sup.name". Returns whether the model has any base types.
bool describe_bases(types::TypeModel& model);

// The names to show for a model's types: "Session", "seq[Session]", "string". If two types would
// have the same name, a part of the hash is appended.
using ShownNames = std::unordered_map<types::TypeRef, std::string>;
[[nodiscard]] ShownNames shown_names(const types::TypeModel& model);

// The first word of an object of an inheritable type is the address of its type information. Each
// such address comes with the type's name in the model, or the symbol's name if the model does not
// have the type.
using FirstWords = std::vector<std::pair<std::uint64_t, std::string>>;
[[nodiscard]] FirstWords first_words(const Modules& modules, const types::TypeModel& model);

// Replaces the hash in the name of a type that no symbol names: the address of the type's
// information in the main program's file. `at` is its address in memory.
[[nodiscard]] std::string hash_of_record(std::uint64_t at, const Modules& modules);

}  // namespace heapattach::nim
