#pragma once

#include <cstdint>
#include <string>

#include "attach/memory_reader.h"
#include "report/call/function_call.h"

namespace heapattach {

// What is in memory at `at` up to a zero byte, or the first 16 MiB of it.
Result<std::string> string_at(const MemoryReader& memory, RemoteAddr at);

// What a function returned, as it is to be shown.
Result<std::string> value_text(std::uint64_t value, Returns returns, const MemoryReader& memory);

}  // namespace heapattach
