#pragma once

#include <map>
#include <vector>

#include "attach/base/result.h"
#include "report/trace/prove_malloc.h"
#include "symbols/code/disassembler.h"
#include "symbols/elf/module.h"
#include "symbols/musl/context.h"

namespace heapattach::trace {

struct MuslGuesses {
  std::vector<Guess> guesses;             // the likeliest first
  std::map<RemoteAddr, Range> functions;  // where the functions are, by their starts
};

// Which functions of a static program without symbols may be those of musl's malloc (mallocng),
// whose data is `context`. Impossible, with what is missing, if its code does not look like that.
Result<MuslGuesses> guess_musl(const Module& program,
                               const MemoryReader& memory,
                               const Disassembler& disassembler,
                               const Range& context);

// Whether musl's data say that there is an allocation of so many bytes.
[[nodiscard]] bool is_slot(const MemoryReader& memory,
                           const musl::Context& context,
                           RemoteAddr at,
                           std::uint64_t bytes);

}  // namespace heapattach::trace
