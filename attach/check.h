#pragma once

#include <source_location>

namespace heapattach {

// Throws std::logic_error that names the place. Not abort(): unwinding is what lets the target go.
[[noreturn]] void fail_check(const char* condition, std::source_location where);

}  // namespace heapattach

// A bug of ours if it does not hold; on in every build.
#define HA_CHECK(condition)                                                  \
  do {                                                                       \
    if (!(condition)) {                                                      \
      ::heapattach::fail_check(#condition, std::source_location::current()); \
    }                                                                        \
  } while (false)
