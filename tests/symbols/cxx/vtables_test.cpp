#include "symbols/cxx/vtables.h"

#include <doctest/doctest.h>

namespace heapattach::cxx {

TEST_CASE("a vtable's symbol names its class") {
  CHECK(class_of_vtable("_ZTV3Foo") == "Foo");
  CHECK(class_of_vtable("_ZTVN2ns5OrderIiEE") == "ns::Order<int>");
  CHECK(class_of_vtable("_ZTS3Foo").empty());
  CHECK(class_of_vtable("main").empty());
  CHECK(class_of_vtable("_ZTV").empty());
}

TEST_CASE("a name that would expand without end stays mangled") {
  CHECK(class_of_vtable("_ZTVnonsense") == "nonsense");
  // Each pair of references doubles the result: 2^60 characters and more.
  std::string doubling = "_ZTV4PairI1A1BE";
  for (int i = 0; i < 30; ++i) doubling += "4PairIS1_S1_E";
  CHECK(class_of_vtable(doubling) == doubling.substr(4));
  std::string deep = "_ZTV";
  for (int i = 0; i < 10000; ++i) deep += "1AI";
  CHECK(class_of_vtable(deep).size() == 4096);
}

TEST_CASE("a word in a vtable after its first two words is of that class") {
  const VtableNames names({{"_ZTV3Foo", {0x2000}, 40, false},
                           {"_ZTV3Bar", {0x1000}, 24, false},
                           {"_ZTV4None", {0x3000}, 8, false},
                           {"_ZTV4Huge", {0x4000}, 1ULL << 40U, false},
                           {"_ZTV3Odd", {0x5004}, 24, false},
                           {"_ZTV4Wrap", {~0ULL - 7}, 64, false},
                           {"_ZTV5Inner", {0x2008}, 24, false}});
  CHECK(names.names() == std::vector<std::string>{"Bar", "Foo"});
  CHECK(names.name_of(0x1010) == "Bar");
  CHECK_FALSE(names.name_of(0x1008).has_value());
  CHECK_FALSE(names.name_of(0x1018).has_value());
  CHECK(names.name_of(0x2010) == "Foo");
  CHECK(names.name_of(0x2020) == "Foo");
  CHECK_FALSE(names.name_of(0x2014).has_value());
  CHECK_FALSE(names.name_of(0).has_value());
  CHECK_FALSE(names.name_of(~0ULL).has_value());
}

TEST_CASE("two vtables of one class share a name, and without vtables there are no names") {
  const VtableNames names({{"_ZTV3Foo", {0x1000}, 24, false}, {"_ZTV3Foo", {0x2000}, 24, false}});
  CHECK(names.names().size() == 1);
  CHECK(names.index_of(0x1010) == names.index_of(0x2010));
  const VtableNames nothing(std::vector<Symbol>{});
  CHECK_FALSE(nothing.name_of(0x1010).has_value());
}

TEST_CASE("a vtable that was found without a symbol counts where no symbol says more") {
  FoundVtables found;
  found.vtables = {{0x1010, "3Bar"}, {0x3010, "N2ns5OrderIiEE"}, {0x500, "3Foo"}};
  found.bases = {"3Foo"};
  const VtableNames names({{"_ZTV3Foo", {0x1000}, 40, false}}, found);
  CHECK(names.names() == std::vector<std::string>{"Foo", "ns::Order<int>"});
  CHECK(names.name_of(0x1010) == "Foo");
  CHECK(names.name_of(0x3010) == "ns::Order<int>");
  CHECK(names.name_of(0x500) == "Foo");
  CHECK_FALSE(names.name_of(0x3018).has_value());
  CHECK_FALSE(names.name_of(0x3008).has_value());
  CHECK(names.found_bases() == std::set<std::string>{"Foo"});
}

}  // namespace heapattach::cxx
