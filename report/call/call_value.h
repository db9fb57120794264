#pragma once

#include <cstdint>
#include <string>

#include "attach/memory/memory_reader.h"
#include "report/call/function_call.h"

namespace heapattach {

// The bytes at `at` up to the first zero byte, but at most 16 MiB.
Result<std::string> string_at(const MemoryReader& memory, RemoteAddr at);

// A function's result as text for the user.
Result<std::string> value_text(std::uint64_t value, Returns returns, const MemoryReader& memory);

}  // namespace heapattach
