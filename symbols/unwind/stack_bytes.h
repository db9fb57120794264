#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "attach/base/result.h"
#include "symbols/unwind/locals.h"
#include "symbols/unwind/stacks.h"

// Encodes the result of the worker that walks stacks, one stack after the other. The bytes come
// from code that parses hostile files, so the reader does not trust them.
namespace heapattach::unwind {

struct FoundLocal {
  Local local;
  std::uint32_t frame = 0;
};

struct FoundStack {
  StackRecord stack;
  std::vector<FoundLocal> locals;
};

// A stack, or the functions at an instruction of some stack.
using FoundPart = std::variant<FoundStack, CodePlaces>;

std::vector<std::byte> to_bytes(const FoundPart& part);
// Removes the first part from `bytes` and returns it. Returns Malformed if `bytes` do not start
// with a part.
Result<FoundPart> take_part(std::span<const std::byte>& bytes);

}  // namespace heapattach::unwind
