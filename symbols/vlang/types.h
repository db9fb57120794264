#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbols/types/type_model.h"

// The types of a program in V as its programmers write them. V's compiler generates C: a
// `main.Session` is a `struct main__Session`, and all arrays are a `struct array`, whose elements
// only the name of a typedef states: "Array_main__Session_ptr" is a `[]&main.Session`.
namespace heapattach::vlang {

// V's string type in a model, and in V.
inline constexpr std::string_view kString = "struct string";
inline constexpr std::string_view kShownString = "string";
// The name of an object that has the text of strings, up to its first zero byte.
inline constexpr std::string_view kText = "(buffer of string)";

// Whether a typedef with this name, of a structure with this tag, states the types of the contents.
// Such a typedef is a type of its own, whose base is the structure.
[[nodiscard]] bool is_container(std::string_view typedef_name, std::string_view tag);

// Gives the buffers of arrays, maps and strings their element types, and makes the value of a sum
// type or an interface one pointer. A typedef that can be understood in two ways, or in none, says
// nothing. Returns whether it has changed the model, which must then pass make_sound() again.
bool describe(types::TypeModel& model);

// The container's type if describe() has made this type of pointers to its buffers; else empty.
[[nodiscard]] std::string_view owner_of_buffer(std::string_view pointer_name);

// The sum type or the interface whose values have this type, which describe() has made; else empty.
[[nodiscard]] std::string_view owner_of_value(std::string_view type_name);

// Whether V's own buffers of that type have a header, which no array's pointer includes. Buffers
// that V has from C have none.
[[nodiscard]] bool has_header(std::string_view pointer_name);
inline constexpr std::uint64_t kHeaderBytes = 8;

// The names to show for types of a model that describe() has changed: "main.Session",
// "[]&main.Session", "map[string]int".
using ShownNames = std::unordered_map<types::TypeRef, std::string>;
[[nodiscard]] ShownNames shown_names(const types::TypeModel& model);

}  // namespace heapattach::vlang
