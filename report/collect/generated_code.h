#pragma once

#include <span>
#include <vector>

#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/mono/facts.h"
#include "symbols/unwind/arch/generated.h"

namespace heapattach::snapshot {

// The functions that Mono has compiled, as far as the threads' stacks in `capture` may refer to
// them. `memory` is the target's, which may run: what is called stays where it is.
[[nodiscard]] std::vector<unwind::GeneratedFunction> generated_code(
    const mono::Facts& mono,
    std::span<const FrozenThread> threads,
    const Capture& capture,
    const MemoryReader& memory,
    const MemoryMap& map);

}  // namespace heapattach::snapshot
