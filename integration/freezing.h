#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <sys/types.h>

#include "attach/process/process.h"
#include "attach/stop/freeze.h"

namespace heapattach {

using FrozenWork = std::function<Result<void>(const FrozenView&)>;

// Opens the process anew and freezes it once, as each run of the tool does.
Result<FreezeReport> freeze_once(pid_t pid,
                                 const FreezeOptions& options = {},
                                 const FrozenWork& work = nullptr);

// "Gone: opening process 4711: …"; empty if there is no error.
std::string text_of(const Error& error);

template <class T>
std::string why(const Result<T>& result) {
  return result ? "" : text_of(result.error());
}

inline double in_milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace heapattach
