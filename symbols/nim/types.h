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

// The types of a Nim program as its people write them. Nim's compiler makes C of it, with names
// such as "tyObject_SessioncolonObjectType___bY0ldn0etn6e2qB9a0Xrexw", of which the end is a hash
// of the type.
namespace heapattach::nim {

// How C's text type of Nim is called in a model, and what Nim calls it.
inline constexpr std::string_view kString = "struct NimStringDesc";
inline constexpr std::string_view kShownString = "string";

struct TypeName {
  std::string name;  // "Session"
  std::string hash;  // the same for the same type, and only for it
};

// Translates the name of an object's C structure; none if that is not such a name.
[[nodiscard]] std::optional<TypeName> object_name(std::string_view c_name);
// Of the symbol of the type information to which each object points that may be of a derived type.
// Symbols have no capitals: "session".
[[nodiscard]] std::optional<TypeName> info_name(std::string_view symbol);

// What an object of a type that has derived ones has in it is its type's and its base's: "name",
// and not "Sup.name". Returns whether there is any.
bool describe_bases(types::TypeModel& model);

// What to call the types of a model: "Session", "seq[Session]", "string". Types that would have the
// same name have a part of the hash behind it.
using ShownNames = std::unordered_map<types::TypeRef, std::string>;
[[nodiscard]] ShownNames shown_names(const types::TypeModel& model);

// The first words of objects that say what they are: the address of the type information, and the
// name of the type in the model; without debug information, that of the symbol.
using FirstWords = std::vector<std::pair<std::uint64_t, std::string>>;
[[nodiscard]] FirstWords first_words(const Modules& modules, const types::TypeModel& model);

}  // namespace heapattach::nim
