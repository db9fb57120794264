#include "report/type_names.h"

#include <doctest/doctest.h>

namespace heapattach {

namespace {

const std::vector<std::string_view> kKnown = {
    "Blog::RequestLog", "Blog::Entry(A::B)", "Log",         "A::Log",
    "B::Session",       "C::Session",        "struct leaf", "(buffer of Array(Blog::RequestLog))"};

NamedType find(std::string_view wanted) {
  return find_type_name(wanted, kKnown);
}

TEST_CASE("a type is found by its name, by a glob, or by a unique suffix") {
  CHECK(find("Blog::RequestLog").name == "Blog::RequestLog");
  CHECK(find("Blog::*").name == "Blog::*");
  CHECK(find("RequestLog").name == "Blog::RequestLog");
  CHECK(find("Entry(A::B)").name == "Blog::Entry(A::B)");
  CHECK(find("leaf").name == "struct leaf");
  CHECK(find("Log").name == "Log");  // the whole name, although A::Log ends in it
}

TEST_CASE("an ambiguous short name is refused") {
  const NamedType several = find("Session");
  CHECK(several.name.empty());
  CHECK(several.problem ==
        "'Session' is short for several types: 'B::Session', 'C::Session'; name one of them, or "
        "'*::Session' for all");
}

TEST_CASE("an unknown name is answered with similar ones") {
  CHECK(find("RequestLgo").problem ==
        "no type is called 'RequestLgo'; did you mean 'Blog::RequestLog'?");
  CHECK(find("blog::requestlog").problem.find("did you mean 'Blog::RequestLog'") !=
        std::string::npos);
  CHECK(find("quest").problem.find("'Blog::RequestLog', '(buffer of Array(Blog::RequestLog))'?") !=
        std::string::npos);
  CHECK(find("Customer").problem == "no type is called 'Customer'; --count lists them");
  CHECK(find("B)").problem.starts_with("no type is called"));
  CHECK(find("x*").name.empty());
}

TEST_CASE(
    "an object known only by its holder is named after it, in old snapshots and filters too") {
  CHECK(unnamed_in("Array(Page)") == "(unnamed, in an Array(Page))");
  CHECK(unnamed_in("Hash(A, B)") == "(unnamed, in a Hash(A, B))");
  CHECK(as_named_now("(held by Array(Page))") == "(unnamed, in an Array(Page))");
  CHECK(as_named_now("(buffer of Array(Page))") == "(buffer of Array(Page))");
  const std::vector<std::string_view> known = {"(unnamed, in a Shop)"};
  CHECK(find_type_name("(held by Shop)", known).name == "(unnamed, in a Shop)");
}

TEST_CASE("a name that is only a size is recognized") {
  CHECK(size_in_name(named_by_size(48)) == "48 bytes");
  CHECK(size_in_name("(unknown)").empty());
  CHECK(size_in_name("( bytes)").empty());
  CHECK(size_in_name("(buffer of 48 bytes)").empty());
}

TEST_CASE("the pattern for all types is a name for any heap") {
  CHECK(find_type_name("*", {}).name == "*");
  CHECK(find_type_name("A*", {}).name.empty());
}

}  // namespace

TEST_CASE("a C++ type is meant by its full and by its short name, and by a glob of either") {
  const std::string full = "std::_Rb_tree_node<std::pair<int const, Item*> >";
  for (const char* const wanted :
       {"std::map<int, Item*> node", "std::map<*", "*_tree_node<*", "*"}) {
    CHECK(matches_type(wanted, full));
  }
  CHECK(matches_type(full, full));
  CHECK_FALSE(matches_type("std::set<*", full));
  CHECK_FALSE(matches_type("std::map<int, Item*>", full));
  const std::vector<std::string_view> known{full, "Item"};
  CHECK(find_type_name("std::map<int, Item*> node", known).name == "std::map<int, Item*> node");
  CHECK(find_type_name("map<int, Item*> node", known).name == full);
  CHECK(find_type_name("std::set<int> node", known).name.empty());
}

}  // namespace heapattach
