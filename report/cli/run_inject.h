#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/call/function_call.h"
#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"
#include "report/deadline.h"

namespace heapattach {

// The call of a dump routine; see CallOptions.
struct Routine {
  CallExpression call;
  std::vector<std::string> or_else;
  std::string routine_library;
  std::function<Result<void>(std::string_view)> take_written;
  std::optional<std::chrono::milliseconds> patience;
  std::uint64_t most_written_times = 16;
};

using CallRoutine = std::function<Result<CallReport>(
    const Options& options, const Deadline& deadline, Console& console, const Routine& routine)>;

// A run of --inject: has the routine write its dump, and keeps that, or makes the usual snapshot of
// it. Where another thread held the
// collector's lock when the clone was made, the next clone may have more luck: some are tried.
[[nodiscard]] ExitStatus run_inject(const Options& options,
                                    const CallRoutine& call,
                                    Console& console);

}  // namespace heapattach
