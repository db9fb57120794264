#pragma once

#include <string_view>

// What belongs to a library by its name alone, because no more than the name is known where it is
// asked. A program may call anything of its own std::Something or GC_something, so that no name is
// kept for how it begins: each stands in a list. What is in none of them is taken for the
// program's own: a name too many is replaced rather than one too few.
namespace heapattach {

// A type's name without its arguments, "Hash" or "std::vector": of Crystal's standard library, of
// libstdc++, libc or the collector, or a word of the language. In a program that is not Crystal's a
// class called Channel is its own.
[[nodiscard]] bool is_library_type(std::string_view path, bool is_crystal_program);

// A part of a field's path, without its sigil.
[[nodiscard]] bool is_library_field(std::string_view name);

// A variable or function: the collector's and the compiler's, wherever they are linked in.
[[nodiscard]] bool is_library_symbol(std::string_view name, bool is_crystal_program);

// A file that is loaded into programs, with its directory or without.
[[nodiscard]] bool is_library_file(std::string_view path);

}  // namespace heapattach
