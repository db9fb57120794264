#include "symbols/cxx/undescribed_strings.h"

#include <doctest/doctest.h>

#include "tests/support/type_model_builder.h"

namespace heapattach::cxx {
namespace {

constexpr auto kString =
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

TEST_CASE("a std::string that is only declared gets the layout of its ABI") {
  ModelBuilder build;
  const auto text = build.opaque(kString);
  REQUIRE(describe_strings(build.model));
  const types::Type& type = build.model[text];
  CHECK(type.shape == types::Shape::Struct);
  CHECK(type.bytes == sizeof(std::string));
  REQUIRE(type.members.size() == 3);
  CHECK(build.model[build.model[type.members[0].type].target].name == "char");
  CHECK(type.members[2].offset == 16);
  CHECK_FALSE(describe_strings(build.model));
}

TEST_CASE("the part of a std::string with its pointer is described if it alone is only declared") {
  ModelBuilder build;
  const auto part = build.opaque(std::string(kString) + "::_Alloc_hider");
  build.structure(kString, 32, {{"_M_dataplus", 0, part}});
  REQUIRE(describe_strings(build.model));
  CHECK(build.model[part].bytes == 8U);
  REQUIRE(build.model[part].members.size() == 1);
  CHECK(build.model[build.model[part].members[0].type].name == "char *");
}

TEST_CASE("a std::string that is described is left alone, and none is made up") {
  ModelBuilder build;
  CHECK_FALSE(describe_strings(build.model));
  CHECK(build.model.empty());
  build.structure(kString, 40);
  CHECK_FALSE(describe_strings(build.model));
  CHECK(build.model[build.model.find(kString)].bytes == 40U);
}

}  // namespace
}  // namespace heapattach::cxx
