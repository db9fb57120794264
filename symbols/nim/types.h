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

// Translates the name of an object's C structure; nothing if it is not such a name.
[[nodiscard]] std::optional<TypeName> object_name(std::string_view c_name);
// The type's name from the symbol of its type information, to which objects point that may be of a
// derived type. Symbols have no capitals: "session".
[[nodiscard]] std::optional<TypeName> info_name(std::string_view symbol);

// Makes the members of base types members of the derived types: "name" instead of "Sup.name".
// Returns whether there are any.
bool describe_bases(types::TypeModel& model);

// The names to show for a model's types: "Session", "seq[Session]", "string". If two types would
// have the same name, a part of the hash is appended.
using ShownNames = std::unordered_map<types::TypeRef, std::string>;
[[nodiscard]] ShownNames shown_names(const types::TypeModel& model);

// First words of objects that identify their type: the address of the type information, with the
// type's name in the model or, if that does not have it, the symbol's.
using FirstWords = std::vector<std::pair<std::uint64_t, std::string>>;
[[nodiscard]] FirstWords first_words(const Modules& modules, const types::TypeModel& model);

// Takes the place of the hash in the name of a type that no symbol names: where the type's
// information is, at `at`, in the file of the main program.
[[nodiscard]] std::string hash_of_record(std::uint64_t at, const Modules& modules);

}  // namespace heapattach::nim
