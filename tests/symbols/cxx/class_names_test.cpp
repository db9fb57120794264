#include "symbols/cxx/class_names.h"

#include <initializer_list>

#include <doctest/doctest.h>

using heapattach::cxx::one_spelling;

TEST_CASE("a C++ class has one name, whichever tool wrote it") {
  struct Spelling {
    const char* name;
    std::initializer_list<const char*> written;  // as g++, clang and the demangler write it
  };
  const std::initializer_list<Spelling> spellings = {
      {"Pair<long>", {"Pair<long int>", "Pair<long>"}},
      {"Pair<Pair<unsigned long> >",
       {"Pair<Pair<long unsigned int> >", "Pair<Pair<unsigned long>>"}},
      {"Pair<Item*>", {"Pair<Item*>", "Pair<Item *>"}},
      {"Pair<Item const* const*>",
       {"Pair<const Item* const*>", "Pair<const Item *const *>", "Pair<Item const* const*>"}},
      {"Pair<unsigned long const, A::list<B<char const> const> const&>",
       {"Pair<const unsigned long, const A::list<const B<const char>> &>",
        "Pair<long unsigned int const, A::list<B<char const> const> const&>"}},
      {"Pair<(anonymous namespace)::A const>",
       {"Pair<const (anonymous namespace)::A>", "Pair<(anonymous namespace)::A const>"}},
      {"F<void (int const*)>", {"F<void (const int *)>"}},
      {"Row<char[2], 5>", {"Row<char [2], 5>", "Row<char[2], 5UL>", "Row<char [2], 5ul>"}},
      {"Q<'a', true, int (*)(char*, long)>",
       {"Q<'a', true, int (*)(char*, long int)>", "Q<'a', true, int (*)(char *, long)>"}},
      {"Pair<void (Item::*)(long) const>",
       {"Pair<void (Item::*)(long int) const>", "Pair<void (Item::*)(long) const>"}},
      {"Pair<(anonymous namespace)::A>", {"Pair<(anonymous namespace)::A>"}},
      {"Pair<unsigned int>", {"Pair<unsigned>", "Pair<unsigned int>"}},
      {"Q<'>', '\\'', ' '>", {"Q<'>', '\\'', ' '>"}},
      {"P<(Color)7>", {"P<(Color)7>"}},
      {"ns::Plain", {"ns::Plain"}},
  };
  for (const Spelling& spelling : spellings) {
    for (const char* written : spelling.written) CHECK(one_spelling(written) == spelling.name);
  }
}

TEST_CASE("a number's type has one name") {
  CHECK(one_spelling("long long unsigned int") == "unsigned long long");
  CHECK(one_spelling("short int") == "short");
  CHECK(one_spelling("unsigned") == "unsigned int");
  CHECK(one_spelling("signed char") == "signed char");
  CHECK(one_spelling("long double") == "long double");
  CHECK(one_spelling("__int128 unsigned") == "unsigned __int128");
  CHECK(one_spelling("_Bool") == "bool");
  CHECK(one_spelling("char8_t") == "char8_t");
}

TEST_CASE("an invalid name stays in bounds") {
  for (const char* name : {"", "'", "''", "'\\", "<", ">>>", "0x", "uUlL", "  ", "\xff(", "1ul",
                           "<const", "<const(", ",const<"}) {
    CHECK(one_spelling(name).size() <= 8);
  }
}
