#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "symbols/types/model_bytes.h"
#include "symbols/types/model_checks.h"

// Reads the sandbox's output. Every reference in a model that passes the checks must be valid.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach::types;
  auto model = model_from_bytes(std::as_bytes(std::span(data, size)));
  if (!model) return 0;
  make_sound(*model);
  for (const Type& type : model->types()) {
    for (const Member& member : type.members) {
      if (member.type != kNoType && member.type >= model->types().size()) std::abort();
    }
  }
  TypeModel merged;
  merge(merged, *model);
  return 0;
}
