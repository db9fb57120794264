#pragma once

#include <cstdint>
#include <string_view>

// Decides by a name alone whether it belongs to a library, because nothing else is known here. A
// program may call its own types std::Something or GC_something, so prefixes are not enough: every
// library name is in a list. Any other name counts as the program's own, because it is better to
// replace one name too many than one too few.
namespace heapattach {

// The language whose standard library counts besides those of C and C++.
enum class Language : std::uint8_t { Other, Crystal, Ruby };

// The language of a snapshot, from "runtime" in its header: "crystal" or "ruby".
[[nodiscard]] Language language_of(std::string_view runtime);

// Whether a type's name without its arguments, such as "Hash" or "std::vector", is from Crystal's
// standard library, libstdc++, libc or the collector, or a word of the language. In a program in
// another language, a class named Channel is the program's own. Ruby's names are the classes that
// exist before a program runs, those of its default libraries, and the words for internal objects.
[[nodiscard]] bool is_library_type(std::string_view path, Language language);

// Whether a part of a field's path, without its sigil, is a library's.
[[nodiscard]] bool is_library_field(std::string_view name);
// Whether a whole part of a path is Ruby's word for an edge, such as "superclass".
[[nodiscard]] bool is_ruby_edge(std::string_view word);

// Whether `name` is a variable or function of the collector or the compiler, whatever it is linked
// into.
[[nodiscard]] bool is_library_symbol(std::string_view name, Language language);

// Whether a file that is loaded into programs is a library's. `path` may lack the directory.
[[nodiscard]] bool is_library_file(std::string_view path);

}  // namespace heapattach
