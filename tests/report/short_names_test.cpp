#include "report/short_names.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "report/type_names.h"

namespace heapattach {

TEST_CASE("a C++ type has the name that people write") {
  const std::string text =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {text, "std::string"},
      {text + " *[4]", "std::string *[4]"},
      {"std::vector<" + text + ", std::allocator<" + text + " > >", "std::vector<std::string>"},
      {"(buffer of std::vector<" + text + " >)", "(buffer of std::vector<std::string>)"},
      {"std::map<" + text + ", ns::Item*, std::less<" + text + " >, std::allocator<std::pair<" +
           text + " const, ns::Item*> > >",
       "std::map<std::string, ns::Item*>"},
      {"std::_Rb_tree_node<std::pair<" + text +
           " const, std::vector<int, std::allocator<int> > > >",
       "std::map<std::string, std::vector<int>> node"},
      {"std::_Rb_tree_node<long>", "std::set<long> node"},
      {"std::_List_node<ns::Item>", "std::list<ns::Item> node"},
      {"std::__detail::_Hash_node<std::pair<int const, ns::Item*>, false>",
       "std::unordered_map<int, ns::Item*> node"},
      {"std::__1::__tree_node<std::__1::__value_type<int, ns::Item*>, void*>",
       "std::map<int, ns::Item*> node"},
      {"std::__1::__hash_node<long, void*>", "std::unordered_set<long> node"},
      {"std::__1::unique_ptr<ns::Item, std::__1::default_delete<ns::Item> >",
       "std::unique_ptr<ns::Item>"},
      {"std::priority_queue<int, std::vector<int, std::allocator<int> >, std::less<int> >",
       "std::priority_queue<int>"},
      {"std::basic_ofstream<wchar_t, std::char_traits<wchar_t> >", "std::wofstream"},
      {"std::basic_string_view<char16_t, std::char_traits<char16_t> >", "std::u16string_view"},
      {"std::filesystem::__cxx11::path", "std::filesystem::path"},
      {"std::vector<int, std::allocator<int> >::iterator", "std::vector<int>::iterator"},
      {"std::function<void (std::__cxx11::list<int, std::allocator<int> > const&)>",
       "std::function<void (std::list<int> const&)>"},
      {"(unnamed, in a std::__cxx11::list<A, std::allocator<A> >)", "(unnamed, in a std::list<A>)"},
  };
  for (const auto& [full, expected] : rows) {
    CHECK(short_type_name(full) == expected);
    CHECK(short_type_name(expected) == expected);
  }
}

TEST_CASE("arguments that are not the defaults stay") {
  for (const char* const name :
       {"std::vector<int, my::allocator<int>>", "std::map<int, int, std::greater<int>>",
        "std::unique_ptr<int, Free>", "std::vector<int, std::allocator<long>>",
        "std::basic_string<char, my::traits>", "std::basic_string<ns::letter>",
        "std::_Sp_counted_ptr_inplace<A, std::allocator<A>, (__gnu_cxx::_Lock_policy)2>"}) {
    CHECK(short_type_name(name) == name);
  }
}

TEST_CASE("names of the program and of other languages stay") {
  for (const char* const name :
       {"shop::std::vector<int, std::allocator<int>>", "ns::__1::Item",
        "Hash(String, Array(Int32))", "#<Class:Session>", "(unknown)", "(48 bytes)", "struct node",
        "", "main()::<lambda(int)>", "ns::Foo<&ns::Foo::operator<<, 3>", "Foo::operator< <int>",
        "Foo<&Foo::operator> >", "Row<'<', '>'>", "Row<'\\''>", "Row<(a < b), (c > d)>",
        "Row<{lambda(int)#1}>", "operator<=> <A>", "ns::Foo<(anonymous namespace)::Bar>"}) {
    CHECK(short_type_name(name) == name);
  }
}

TEST_CASE("a name that cannot be parsed stays") {
  for (const char* const name :
       {"std::vector<", "std::vector<int", "std::vector<>", "std::", "<<<<>", "std::map<int, int))",
        "std::_List_node<>", "operator", "'", "a < b", "std::vector<)>", "::", ">"}) {
    CHECK(short_type_name(name) == name);
  }
  const std::string deep(5000, '<');
  CHECK(short_type_name("std::" + deep) == "std::" + deep);
}

TEST_CASE("the short form of a short form is itself, whatever the name") {
  constexpr std::array kParts = {
      "std::", "__cxx11::", "__1::", "vector", "map", "_List_node", "basic_string", "char", "int",
      "<",     ">",         " >",    ", ",     "(",   ")",          "operator",     "->",   "'",
      "&",     "*",         "::",    " const", "{",   "}",          "std::pair",    "Foo",  "[3]"};
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeatable
  for (int round = 0; round < 20'000; ++round) {
    std::string name;
    for (auto parts = random() % 24; parts > 0; --parts) name += kParts[random() % kParts.size()];
    CAPTURE(name);
    const std::string short_name = short_type_name(name);
    CHECK(short_type_name(short_name) == short_name);
    CHECK(short_name.size() <= 2 * name.size() + 16);
  }
}

TEST_CASE("full names are shown on request") {
  constexpr const char* kFull = "std::vector<int, std::allocator<int> >";
  CHECK(shown_type_name(kFull) == "std::vector<int>");
  show_full_type_names();
  CHECK(shown_type_name(kFull) == kFull);
  show_full_type_names(false);
}

}  // namespace heapattach
