#include "report/call/call_expression.h"

#include <doctest/doctest.h>

namespace heapattach {

namespace {

std::uint64_t number_at(const CallExpression& call, std::size_t at) {
  REQUIRE(at < call.arguments.size());
  REQUIRE(std::holds_alternative<std::uint64_t>(call.arguments[at]));
  return std::get<std::uint64_t>(call.arguments[at]);
}

std::string text_at(const CallExpression& call, std::size_t at) {
  REQUIRE(at < call.arguments.size());
  REQUIRE(std::holds_alternative<std::string>(call.arguments[at]));
  return std::get<std::string>(call.arguments[at]);
}

}  // namespace

TEST_CASE("a call is written as in C") {
  const auto call = parse_call(R"( dump ( "a, \"b\")\n\x41\101" , 1, -2,0x10 , null ) ;)");
  REQUIRE(call.has_value());
  CHECK(call->function == "dump");
  REQUIRE(call->arguments.size() == 5);
  CHECK(text_at(*call, 0) == "a, \"b\")\nAA");
  CHECK(number_at(*call, 1) == 1);
  CHECK(number_at(*call, 2) == ~std::uint64_t{1});
  CHECK(number_at(*call, 3) == 16);
  CHECK(number_at(*call, 4) == 0);
}

TEST_CASE("a call may have no arguments, and an empty text is an argument") {
  CHECK(parse_call("run()")->arguments.empty());
  CHECK(parse_call("run ( )")->arguments.empty());
  CHECK(text_at(*parse_call("run(\"\")"), 0).empty());
  CHECK(number_at(*parse_call("f(0xffffffffffffffff)"), 0) == ~std::uint64_t{0});
}

TEST_CASE("an invalid call is refused with the position of the error") {
  for (const char* text :
       {"", "run", "(1)", "run(", "run(1", "run(1,)", "run(,)", "run(1 2)", "run(x)", "run(\"a)",
        "run(\"a\\", "run(\"\\q\")", "run(\"a\\0b\")", "run(1) + 1", "run(0x)", "run(-)",
        "run(1.5)", "run(99999999999999999999)"}) {
    const auto call = parse_call(text);
    CHECK_MESSAGE(!call.has_value(), text);
    if (!call) CHECK(call.error().message().find("--call") == 0);
  }
}

}  // namespace heapattach
