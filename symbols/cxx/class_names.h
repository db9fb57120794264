#pragma once

#include <string>
#include <string_view>

namespace heapattach::cxx {

// One spelling of a type's name, whatever its source: g++'s "Pair<long int>", clang's "Pair<long>"
// and the "Pair<long>" of a demangled symbol are "Pair<long>"; "Pair<Item *>" is "Pair<Item*>",
// "Row<char [2], 5UL>" is "Row<char[2], 5>", "list<list<int>>" is "list<list<int> >", "pair<const
// int>" is "pair<int const>". A plain number type changes too: "long unsigned int" is "unsigned
// long".
[[nodiscard]] std::string one_spelling(std::string_view name);

}  // namespace heapattach::cxx
