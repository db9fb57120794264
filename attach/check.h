#pragma once

namespace heapattach {

// Throws std::logic_error that names the location. Not abort(): unwinding releases the target.
[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace heapattach

// Fails only through a bug of ours; checked in every build.
#define HA_CHECK(condition)                                     \
  do {                                                          \
    if (!(condition)) {                                         \
      ::heapattach::fail_check(#condition, __FILE__, __LINE__); \
    }                                                           \
  } while (false)
