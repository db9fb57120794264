#pragma once

namespace heapattach {

// Throws std::logic_error that names the place. Not abort(): unwinding is what lets the target go.
[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace heapattach

// A bug of ours if it does not hold; on in every build.
#define HA_CHECK(condition)                                     \
  do {                                                          \
    if (!(condition)) {                                         \
      ::heapattach::fail_check(#condition, __FILE__, __LINE__); \
    }                                                           \
  } while (false)
