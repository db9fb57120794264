#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "attach/base/result.h"

namespace heapattach {

// ptrace takes its arguments as pointers.
inline void* ptrace_word(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr)
}

// The result of a request that returns no value. errno must not have changed since the request.
inline Result<void> checked(std::string_view operation, long result) {
  const int failure = errno;
  if (result == 0) return {};
  return os_error(operation, failure);
}

}  // namespace heapattach
