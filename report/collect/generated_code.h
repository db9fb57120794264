#pragma once

#include <span>
#include <string>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/mono/facts.h"
#include "symbols/unwind/arch/generated.h"

namespace heapattach::snapshot {

struct GeneratedCode {
  std::vector<unwind::GeneratedFunction> functions;
  std::vector<std::string> warnings;  // which names could not be believed
};

// The functions that Mono has compiled, as far as the threads' stacks in `capture` may refer to
// them. `memory` is the target's, which may run: what is called stays where it is.
[[nodiscard]] GeneratedCode generated_code(const mono::Facts& mono,
                                           std::span<const FrozenThread> threads,
                                           const Capture& capture,
                                           const MemoryReader& memory,
                                           const MemoryMap& map);

}  // namespace heapattach::snapshot
