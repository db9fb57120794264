#include "symbols/dwarf/dwarf_names.h"

#include <utility>

#include <doctest/doctest.h>

#include "tests/symbols/types/typed_program.h"

namespace heapattach::types {

namespace {

using Expected = std::vector<std::pair<std::string, std::string>>;

void check_names(const std::string& program, const Expected& expected) {
  CAPTURE(program);
  const OpenDwarf dwarf(program);
  DwarfNames names(dwarf.get());
  for (const auto& row : expected) {
    CHECK_MESSAGE(names.of_type_of(dwarf.variable(row.first)) == row.second, row.first);
  }
}

}  // namespace

TEST_CASE("a type of C has one name, whichever compiler described it") {
  for (const std::string& program : typed_programs("c")) {
    check_names(program, {{"first", "struct node"},
                          {"head", "struct node *"},
                          {"all", "struct node **[4]"},
                          {"origin", "point_t"},
                          {"where", "point_t *"},
                          {"secret", "struct hidden *"},
                          {"buffer", "struct buffer *"},
                          {"count", "unsigned long"},
                          {"compare", "int (*)(struct node *, void *)"},
                          {"matrix", "int (*)[4]"},
                          {"anything", "void *"},
                          {"favourite", "enum color"},
                          {"nameless", "(struct at shapes.c:39)"},
                          {"cache", "struct node *"},
                          {"l", "struct local"}});
  }
}

TEST_CASE("a type of C++ is named with its scopes") {
  for (const std::string& program : typed_programs("cxx")) {
    check_names(program, {{"order", "ns::Order<int>"},
                          {"orders", "ns::Order<ns::Outer> *"},
                          {"inner", "ns::Outer::Inner"},
                          {"secret", "ns::Outer::Secret"},
                          {"level", "ns::Level"},
                          {"cache", "(anonymous namespace)::Cache"},
                          {"derived", "Derived"},
                          {"derived_reference", "Derived &"},
                          {"member", "int Derived::*"},
                          {"method", "void (Base::*)(int)"},
                          {"numbers", "Row<long, 3>"},
                          {"pointers", "Row<ns::Outer*, 2>"},
                          {"length", "Length<(Unit)1, (ns::Level)200>"},
                          {"constant", "ns::Order<int const>"},
                          {"l", "use::Local"}});
  }
}

TEST_CASE("a variable is named with its scopes") {
  for (const std::string& program : typed_programs("cxx")) {
    CAPTURE(program);
    const OpenDwarf dwarf(program);
    DwarfNames names(dwarf.get());
    CHECK(names.of_variable(dwarf.variable("cache")) == "(anonymous namespace)::cache");
    CHECK(names.of_variable(dwarf.variable("instance")) == "ns::Outer::instance");
    CHECK(names.of_variable(dwarf.variable("order")) == "order");
  }
}

}  // namespace heapattach::types
