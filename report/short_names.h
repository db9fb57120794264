#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// The name of a C++ type as people write it, for its full name: "std::map<std::string, Item*>" for
// "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, Item*,
// std::less<…>, std::allocator<…> >". Leaves out default arguments and inline namespaces of the
// standard library, and names the nodes of its containers: "std::list<Item> node". Nodes do not
// show whether a key may occur several times: they are named after std::map, std::set and so on,
// even those of std::multimap. Any other name stays the same, but for spaces between arguments, and
// so does one that cannot be parsed.
// The short form of a short form is itself.
[[nodiscard]] std::string short_type_name(std::string_view full);

// The name to show in text: the short form, or the full name once show_full_type_names() was called
// (-v). Formats for machines have full names.
[[nodiscard]] std::string shown_type_name(std::string_view full);
void show_full_type_names(bool full = true) noexcept;

}  // namespace heapattach
