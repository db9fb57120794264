#include "report/glob.h"

#include <string>

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("a star matches any characters of a type name") {
  CHECK(matches_glob("Acme::*", "Acme::Order::Line"));
  CHECK(matches_glob("Hash(*)", "Hash(String, Foo | Nil)"));
  CHECK(matches_glob("*Nil)", "Array(Int32 | Nil)"));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("a*b*c", "aXbXbXc"));
  CHECK(matches_glob("Foo?", "Foo1"));
  CHECK_FALSE(matches_glob("Acme::*", "Acme"));
  CHECK_FALSE(matches_glob("Foo", "Foo2"));
  CHECK_FALSE(matches_glob("", "Foo"));
}

TEST_CASE("a glob of many stars is matched in bounded time") {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  CHECK_FALSE(matches_glob(pattern + "b", std::string(4000, 'a')));
}

}  // namespace heapattach
