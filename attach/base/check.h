#pragma once

namespace heapattach {

// Throws a std::logic_error that names the location. It does not abort(), because unwinding
// releases the target.
[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace heapattach

// Fails only if heapattach has a bug. Checked in every build.
#define HA_CHECK(condition)                                     \
  do {                                                          \
    if (!(condition)) {                                         \
      ::heapattach::fail_check(#condition, __FILE__, __LINE__); \
    }                                                           \
  } while (false)
