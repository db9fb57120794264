#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "inject/arch/call_frame.h"

namespace heapattach {

// A call as the user writes it: name("text", 1, -2, 0x10, null).
struct CallExpression {
  std::string function;
  std::vector<CallArgument> arguments;
};

// Texts may contain the escapes of C (\n, \t, \\, \", \x41 and \101), numbers are decimal or start
// with 0x, and null is 0. Fails with Malformed, which gives the position of the first error.
Result<CallExpression> parse_call(std::string_view text);

}  // namespace heapattach
