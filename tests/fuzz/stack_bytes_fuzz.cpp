#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "symbols/unwind/local_types.h"
#include "symbols/unwind/stack_bytes.h"

// Reads the output of the worker that walks stacks, and the types that it names.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  types::TypeModel model;
  const types::TypeRef node = model.intern("struct node");
  model[node].shape = types::Shape::Struct;
  model[node].bytes = 24;
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  while (!rest.empty()) {
    const std::span<const std::byte> before = rest;
    const auto part = unwind::take_part(rest);
    if (!part) break;
    if (rest.size() >= before.size()) std::abort();
    const auto* const found = std::get_if<unwind::FoundStack>(&*part);
    for (const unwind::FoundLocal& local :
         found == nullptr ? std::vector<unwind::FoundLocal>() : found->locals) {
      if (local.frame >= found->stack.frames.size()) std::abort();
      const types::TypeRef type = unwind::type_of_local(local.local.type, model);
      if (type != types::kNoType && type >= model.types().size()) std::abort();
    }
    // A part that could be parsed must be written back identically.
    const auto bytes = unwind::to_bytes(*part);
    const auto taken = before.first(before.size() - rest.size());
    if (bytes.size() != taken.size()) std::abort();
  }
  return 0;
}
