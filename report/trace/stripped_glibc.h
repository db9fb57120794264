#pragma once

#include <vector>

#include "attach/base/result.h"
#include "report/trace/program_code.h"
#include "report/trace/prove_malloc.h"

namespace heapattach::trace {

// Which functions of a static program without symbols may be those of glibc's malloc, whose
// main_arena is `arena`. Impossible, with what is missing, if its code does not look like malloc's.
Result<std::vector<Guess>> guess_glibc(const ProgramCode& code, const Range& arena);

// Whether glibc's data say that there is an allocation of so many bytes.
[[nodiscard]] bool is_chunk(const MemoryReader& memory, RemoteAddr at, std::uint64_t bytes);

}  // namespace heapattach::trace
