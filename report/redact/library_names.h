#pragma once

#include <string_view>

// Names that belong to a library, decided by the name alone, because nothing else is known here. A
// program may call its own types std::Something or GC_something, so no prefix is enough: each
// library name is in a list. A name in none of them counts as the program's own: it is better to
// replace one name too many than one too few.
namespace heapattach {

// A type's name without its arguments, "Hash" or "std::vector": from Crystal's standard library,
// libstdc++, libc or the collector, or a word of the language. If the program is not Crystal's, a
// class named Channel is its own.
[[nodiscard]] bool is_library_type(std::string_view path, bool is_crystal_program);

// A part of a field's path, without its sigil.
[[nodiscard]] bool is_library_field(std::string_view name);

// A variable or function of the collector or the compiler, wherever it is linked in.
[[nodiscard]] bool is_library_symbol(std::string_view name, bool is_crystal_program);

// A file that is loaded into programs, with its directory or without.
[[nodiscard]] bool is_library_file(std::string_view path);

}  // namespace heapattach
