#include "report/analyze/find_expression.h"

#include <doctest/doctest.h>

namespace heapattach::analyze {

namespace {

FindExpression good(std::string_view text) {
  const auto parsed = parse_find(text);
  INFO(text, " ", parsed ? std::string() : parsed.error().message());
  REQUIRE(parsed.has_value());
  return *parsed;
}

std::string problem(std::string_view text) {
  const auto parsed = parse_find(text);
  return parsed ? std::string() : parsed.error().message();
}

}  // namespace

TEST_CASE("a type and conditions on its fields make an expression") {
  const FindExpression one = good(R"( Session[@user.name == "ann \"b\" \\"])");
  CHECK(one.type == "Session");
  REQUIRE(one.any_of.size() == 1);
  const FindCondition& condition = one.any_of[0].at(0);
  CHECK(condition.path == "@user.name");
  CHECK(condition.column == 10);
  CHECK(condition.op == FindOperator::Equal);
  CHECK(condition.value.kind == FindValue::Kind::Text);
  CHECK(condition.value.text == R"(ann "b" \)");
  CHECK(one.needs_values());
}

TEST_CASE("and binds more tightly than or, and both have a symbol") {
  const FindExpression found = good("A[@x > 1 and @y <= -2.5 or @z != nil && b || @c == true]");
  REQUIRE(found.any_of.size() == 3);
  CHECK(found.any_of[0].size() == 2);
  CHECK(found.any_of[1].size() == 2);
  CHECK(found.any_of[1][1].op == FindOperator::Exists);
  CHECK(found.any_of[2][0].value.text == "true");
  CHECK_FALSE(good("A[@z == nil or b]").needs_values());
  CHECK(good("A[@android == 1]").any_of[0][0].path == "@android");
}

TEST_CASE("brackets of types and of elements are not conditions") {
  CHECK(good("struct leaf[]").type == "struct leaf[]");
  CHECK(good("struct leaf[]").any_of.empty());
  CHECK(good("char[][a == 1]").type == "char[]");
  CHECK(good("Array(Foo)[@buffer.[*].@name ~ \"a*\"]").any_of[0][0].path == "@buffer.[*].@name");
  CHECK(good("A[items[3].x == 1]").any_of[0][0].path == "items[3].x");
}

TEST_CASE("an invalid expression is reported with its column and the text there") {
  CHECK(problem("") ==
        "--find, column 1, at the end: it must start with a type, as in Session[@user == \"ann\"]");
  CHECK(problem("A[@x == \"ann]") == "--find, column 9, at '\"ann]': the closing quote is missing");
  CHECK(problem("A[@x = 1]") == "--find, column 6, at '= 1]': = is not an operator; use ==");
  CHECK(problem("A[@x == 1") == "--find, column 10, at the end: a closing bracket is missing");
  CHECK(problem("A[@x == ann]").find("column 9, at 'ann]': not a number") != std::string::npos);
  CHECK(problem("A[@x < \"b\"]").find("column 8, at '\"b\"]': < takes a number") !=
        std::string::npos);
  CHECK(problem("A[@x ~ 3]").find("~ takes a glob in quotes") != std::string::npos);
  CHECK(problem("A[@x == 1 @y == 2]").find("column 11, at '@y == 2]': expected and, or,") !=
        std::string::npos);
  CHECK(problem("A[== 1]").find("column 3, at '== 1]': expected a field") != std::string::npos);
  CHECK(problem("A[@x == ]").find("column 9, at ']': expected a value") != std::string::npos);
  CHECK(problem("A[@x == 1] b").find("nothing may follow") != std::string::npos);
}

}  // namespace heapattach::analyze
