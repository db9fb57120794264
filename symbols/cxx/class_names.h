#pragma once

#include <string>
#include <string_view>

namespace heapattach::cxx {

// Normalizes the spelling of a type's name, whatever its source: g++'s "Pair<long int>", clang's
// "Pair<long>" and the "Pair<long>" of a demangled symbol are "Pair<long>"; "Pair<Item *>" is
// "Pair<Item*>", "Row<char [2], 5UL>" is "Row<char[2], 5>", "list<list<int>>" is "list<list<int>
// >", "pair<const int>" is "pair<int const>". Plain number types are normalized too: "long unsigned
// int" becomes "unsigned long".
[[nodiscard]] std::string one_spelling(std::string_view name);

}  // namespace heapattach::cxx
