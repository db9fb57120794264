#include "symbols/crystal/type_info.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace heapattach::crystal {

namespace {

constexpr std::string_view kJson = R"json({"types":[
{"name":"Nil","id":0,"min_subtype_id":0,"supertype_id":9,"has_inner_pointers":false,"size":0},
{"name":"Fiber","id":5,"has_inner_pointers":true,"size":8,"align":8,"instance_size":56,
 "later":{"key":[1,{"deep":null}]},
 "instance_vars":[{"name":"@name","type_name":"String","offset":48,"size":8},
                  {"name":"@stack","type_name":"Fiber::Stack","offset":24,"size":24},
                  {"name":"@alive","type_name":"Bool","offset":8,"size":1}]},
{"name":"Fiber::Stack","id":6,"has_inner_pointers":true,"size":24,"align":8,
 "instance_vars":[{"name":"@pointer","type_name":"Pointer(Void)","offset":0,"size":8},
                  {"name":"@bottom","type_name":"Pointer(Void)","offset":8,"size":8},
                  {"name":"@size","type_name":"Int32","offset":16,"size":4}]},
{"name":"Array(Fiber+)","id":7,"has_inner_pointers":true,"size":8,"instance_size":24},
{"name":"Array(T)","id":8,"has_inner_pointers":true},
{"name":"Fiber.class","id":17,"instance_type_id":5,"has_inner_pointers":false,"size":4}]})json";

constexpr std::string_view kText =
    "Shards are up to date\n"
    "CRYSTAL_DUMP_TYPE_ID\n"
    "{0 - 0}: Nil\n"
    "{1 - 9}: Object\n"
    "  {1 - 7}: Reference\n"
    "    {1 - 1}: String\n"
    "    {2 - 4}: Array\n"
    "      {2 - 2}: Array(String)\n"
    "      {3 - 3}: Array(Shape)\n"
    "    {5 - 6}: Shape\n"
    "      {5 - 5}: Circle\n"
    "  {8 - 8}: Value\n"
    "{10 - 10}: Circle.class\n"
    "\n"
    "done\n";

const Type* find(const std::vector<Type>& types, std::string_view name) {
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const Type& t) { return t.name == name; });
  return found == types.end() ? nullptr : &*found;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string changed(text);
  const std::size_t at = changed.find(what);
  REQUIRE(at != std::string::npos);
  changed.replace(at, what.size(), by);
  return changed;
}

// The message with which a text is refused.
std::string refusal(std::string_view text) {
  const auto types = parse_type_info(text);
  REQUIRE_FALSE(types.has_value());
  CHECK(types.error().kind == ErrorKind::Malformed);
  return types.error().message();
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the JSON gives the classes, with structures unfolded into their fields") {
  const auto types = parse_type_info(kJson);
  REQUIRE(types.has_value());
  CHECK(std::count_if(types->begin(), types->end(), [](const Type& t) { return !t.is_value; }) ==
        2);
  const Type* fiber = find(*types, "Fiber");
  REQUIRE(fiber != nullptr);
  CHECK(fiber->id == 5);
  CHECK(fiber->instance_bytes == 56);
  CHECK(fiber->is_atomic == false);
  REQUIRE(fiber->fields.size() == 5);
  CHECK(fiber->fields[0].name == "@alive");
  CHECK(fiber->fields[2].name == "@stack.@bottom");
  CHECK(fiber->fields[2].type == "Pointer(Void)");
  CHECK(fiber->fields[2].offset == 32);
  CHECK(fiber->fields[4].name == "@name");
}

TEST_CASE("an array in place is one field, as long as all of its elements") {
  const auto types = parse_type_info(
      R"json({"types":[{"name":"A","id":1,"instance_size":40,"instance_vars":[
                  {"name":"@fixed","type_name":"StaticArray(String, 3)","offset":8,"size":24}]},
                {"name":"StaticArray(String, 3)","id":2,"size":24,"instance_vars":[
                  {"name":"@buffer","type_name":"String","offset":0,"size":8}]}]})json");
  REQUIRE(types.has_value());
  const Type* holder = find(*types, "A");
  REQUIRE(holder != nullptr);
  REQUIRE(holder->fields.size() == 1);
  CHECK(holder->fields[0].name == "@fixed");
  CHECK(holder->fields[0].bytes == 24);
}

TEST_CASE("the text gives the classes below Reference, without generic ones") {
  const auto types = parse_type_info(kText);
  REQUIRE(types.has_value());
  std::vector<std::string> names;
  for (const Type& type : *types) names.push_back(type.name);
  CHECK(names ==
        std::vector<std::string>{"String", "Array(String)", "Array(Shape)", "Shape", "Circle"});
  CHECK(find(*types, "Shape")->id == 6);
  CHECK(find(*types, "Circle")->id == 5);
}

TEST_CASE("empty files and other kinds of files are refused by content") {
  CHECK(says(refusal(""), "empty"));
  CHECK(says(refusal(" \n\t\r\n"), "empty"));
  CHECK(says(refusal("\x7f"
                     "ELF and so on"),
             "neither"));
  CHECK(says(refusal(std::string(1000, '\0')), "neither"));
  CHECK(says(refusal("{}"), "types"));
  refusal("{\"types\":5}");
  refusal("{\"types\":[5]}");
  refusal("{\"types\":[{\"name\":\"\\ud800\",\"id\":1}]}");
  refusal("{\"types\":[{\"name\":\"\xff\xfe\",\"id\":1}]}");
  refusal(std::string(2000, '{'));
  refusal("{\"types\":" + std::string(100000, '['));
}

TEST_CASE("a JSON file cut off anywhere is refused") {
  for (std::size_t length = 0; length < kJson.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(parse_type_info(kJson.substr(0, length)).has_value());
  }
}

TEST_CASE("a text cut off anywhere in its list is refused") {
  const std::size_t end = kText.find("{10 - 10}") - 1;
  for (std::size_t length = 0; length < kText.find("{8 - 8}: Value"); ++length) {
    CAPTURE(length);
    CHECK_FALSE(parse_type_info(kText.substr(0, length)).has_value());
  }
  CHECK(parse_type_info(kText.substr(0, end)).has_value());
}

TEST_CASE("errors in the JSON are reported with their position") {
  const auto twice = refusal(replaced(kJson, "\"id\":7", "\"id\":5"));
  CHECK(says(twice, "types[3]"));
  CHECK(says(twice, "id 5"));
  CHECK(says(refusal(replaced(kJson, "\"id\":6", "\"id\":2147483648")), "types[2]"));
  CHECK(says(refusal(replaced(kJson, "\"id\":6", "\"id\":-1")), "types[2]"));
  CHECK(says(refusal(replaced(kJson, "\"id\":6", "\"id\":1.5")), "types[2]"));
  CHECK(says(refusal(replaced(kJson, "\"id\":6,", "")), "no id"));
  const auto beyond = refusal(replaced(kJson, "\"offset\":48", "\"offset\":49"));
  CHECK(says(beyond, "@name"));
  CHECK(says(beyond, "types[1]"));
  CHECK(says(refusal(replaced(kJson, "\"offset\":8,\"size\":1", "\"offset\":3,\"size\":1")),
             "@alive"));
  CHECK(says(refusal(replaced(kJson, "\"size\":8}", "\"size\":18446744073709551615}")), "size"));
  CHECK(says(refusal(replaced(kJson, "\"@size\"", "7")), "instance_vars[2]"));
  CHECK(says(refusal(replaced(kJson, "\"Fiber\"", "\"\"")), "types[1]"));
  refusal(std::string(kJson) + "x");
  refusal(std::string(kJson) + std::string(kJson));
}

TEST_CASE("errors in the text are reported with their line") {
  CHECK(says(refusal(replaced(kText, "{3 - 3}", "{3 - x}")), "line 9"));
  CHECK(says(refusal(replaced(kText, "{3 - 3}", "{2 - 2}")), "id 2 twice"));
  CHECK(says(refusal(replaced(kText, "{3 - 3}", "{4 - 3}")), "line 9"));
  CHECK(says(refusal(replaced(kText, "{3 - 3}", "{3 - 4294967296}")), "line 9"));
  CHECK(says(refusal(replaced(kText, "{3 - 3}", "{3 - 2147483647}")), "line 9"));
  CHECK(says(refusal(replaced(kText, "{1 - 9}: Object", "{1 - 9}: Subject")), "Object"));
}

TEST_CASE("structures that contain themselves are not unfolded for ever") {
  const auto types = parse_type_info(
      R"({"types":[{"name":"A","id":1,"instance_size":16,"instance_vars":[
                     {"name":"@s","type_name":"S","offset":8,"size":8}]},
                   {"name":"S","id":2,"size":8,"instance_vars":[
                     {"name":"@a","type_name":"S","offset":0,"size":8},
                     {"name":"@b","type_name":"Int32","offset":0,"size":4}]}]})");
  REQUIRE(types.has_value());
  CHECK(types->front().fields.size() < 40);
}

TEST_CASE("hostile names are kept as bytes, up to a length") {
  const auto types =
      parse_type_info(R"({"types":[{"name":"\u001b[31m\u0000\u202e","id":1,"instance_size":8}]})");
  REQUIRE(types.has_value());
  CHECK(types->front().name == std::string("\x1b[31m\0\xe2\x80\xae", 9));
  const std::string huge(1U << 20U, 'a');
  CHECK(says(refusal(fmt::format(R"({{"types":[{{"name":"{}","id":1}}]}})", huge)), "bytes long"));
}

TEST_CASE("a missing file, a directory, and a file that is far too large are refused by name") {
  const auto missing = read_type_info("/no/such/file");
  REQUIRE_FALSE(missing.has_value());
  CHECK(says(missing.error().message(), "/no/such/file"));
  CHECK_FALSE(read_type_info("/").has_value());

  std::string name = "/tmp/heapattach-test-XXXXXX";
  const int fd = ::mkstemp(name.data());
  REQUIRE(fd >= 0);
  CHECK(::ftruncate(fd, off_t{1} << 30) == 0);  // a gigabyte of zeros, none of it on the disk
  const auto huge = read_type_info(name);
  ::close(fd);
  ::unlink(name.c_str());
  REQUIRE_FALSE(huge.has_value());
  CHECK(huge.error().kind == ErrorKind::Malformed);
  CHECK(says(huge.error().message(), "1024 MiB"));
}

}  // namespace heapattach::crystal
