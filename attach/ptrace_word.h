#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "attach/error.h"

namespace heapattach {

// The arguments of ptrace are words in the shape of pointers.
inline void* ptrace_word(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr)
}

// What a request that gives no value back has come to; errno must still be its own.
inline Result<void> checked(std::string_view operation, long result) {
  const int failure = errno;
  if (result == 0) return {};
  return os_error(operation, failure);
}

}  // namespace heapattach
