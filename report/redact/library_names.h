#pragma once

#include <cstdint>
#include <string_view>

// Decides whether a name belongs to a library by the name alone, because nothing else is known
// here. A program may call its own types std::Something or GC_something, so prefixes are not
// enough: every library name is in a list. Any other name counts as the program's own, because it
// is better to replace one name too many than one too few.
namespace heapattach {

// Whose standard library counts, besides those of C and C++.
enum class Language : std::uint8_t { Other, Crystal, Ruby };

// Of a snapshot's header: "crystal", "ruby".
[[nodiscard]] Language language_of(std::string_view runtime);

// A type's name without its arguments, "Hash" or "std::vector": from Crystal's standard library,
// libstdc++, libc or the collector, or a word of the language. If the program is not Crystal's, a
// class named Channel is its own. Of Ruby, the classes that it has before any program runs, those
// of its default libraries, and the words for its internal objects.
[[nodiscard]] bool is_library_type(std::string_view path, Language language);

// The same for a part of a field's path, without its sigil.
[[nodiscard]] bool is_library_field(std::string_view name);
// Whether a whole word of a path is one of Ruby's for an edge: "superclass".
[[nodiscard]] bool is_ruby_edge(std::string_view word);

// A variable or function of the collector or the compiler, wherever it is linked in.
[[nodiscard]] bool is_library_symbol(std::string_view name, Language language);

// The same for a file that is loaded into programs, with or without its directory.
[[nodiscard]] bool is_library_file(std::string_view path);

}  // namespace heapattach
