#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"

// The expressions of --find: `Session[@user.name == "ann" and @hits > 3]`.
//
//   find       TYPE  or  TYPE [ conditions ]      TYPE as for --why: a name, a short name, a glob
//   conditions condition { and condition }, several of these with `or` between them
//   condition  PATH OP VALUE                      or PATH alone: the field is not nil
//   PATH       fields with dots between them, with @ or without; [3] or [*] for elements
//   OP         == != < <= > >= and ~ for a glob
//   VALUE      "text" with \" and \\ in it, a number, true, false, nil, :symbol or :"a symbol"
//
// `and` binds closer than `or`; there are no parentheses.
namespace heapattach::analyze {

enum class FindOperator : std::uint8_t {
  Exists,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Matches,
};

struct FindValue {
  enum class Kind : std::uint8_t { Nil, Text, Plain };  // Plain: a number, true or false
  Kind kind = Kind::Nil;
  std::string text;
  bool is_symbol = false;  // for a Text: matches only a Symbol of Ruby
};

struct FindCondition {
  std::string path;        // as given
  std::size_t column = 0;  // of the path in the expression; the first is 1
  FindOperator op = FindOperator::Exists;
  FindValue value;

  // Whether evaluating it requires the contents of objects.
  [[nodiscard]] bool needs_values() const {
    return op != FindOperator::Exists && value.kind != FindValue::Kind::Nil;
  }
};

struct FindExpression {
  std::string text;  // as given
  std::string type;
  std::vector<std::vector<FindCondition>>
      any_of;  // all conditions of one of these groups must be true; empty: all objects match

  [[nodiscard]] bool needs_values() const;
};

// Parses an expression. Malformed, with the column of the error and the reason.
Result<FindExpression> parse_find(std::string_view text);

// An error that gives the column, quotes the text there, and explains the problem.
[[nodiscard]] Error find_error(std::string_view text, std::size_t column, std::string_view why);

}  // namespace heapattach::analyze
