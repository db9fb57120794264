#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/result.h"
#include "symbols/stack/locals.h"
#include "symbols/stack/stacks.h"

// How the worker that walks stacks tells what it found: one stack after the other, as bytes. They
// come from code that parses hostile files, so they are read like anything else that is hostile.
namespace heapattach::stack {

struct FoundLocal {
  Local local;
  std::uint32_t frame = 0;
};

struct FoundStack {
  StackRecord stack;
  std::vector<FoundLocal> locals;
};

std::vector<std::byte> to_bytes(const FoundStack& found);
// Takes the first stack off `bytes`; Malformed if they do not begin with one.
Result<FoundStack> take_stack(std::span<const std::byte>& bytes);

}  // namespace heapattach::stack
