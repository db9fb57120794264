#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/call/call_expression.h"
#include "report/request.h"

namespace heapattach {

// How to show a function's result.
enum class Returns : std::uint8_t {
  Long,     // all 64 bits, with a sign
  Int,      // the lower 32 bits, with a sign: the result of a C function declared int
  Pointer,  // in hexadecimal
  String,   // the bytes at that address, up to a zero byte
  None,     // not shown: print only what the function wrote
};

// The process in which a function runs.
enum class CallPlace : std::uint8_t {
  Clone,
  Held,     // in the process itself, while its other threads are stopped
  Running,  // in the process itself, while its other threads keep running
};

struct CallOptions {
  const Request& request;
  CallExpression call = {};
  std::vector<std::string> or_else = {};  // other names to try if the first is missing
  // The shared library to load into the clone if none of these names exists, as a path in the
  // target's view. Empty: none.
  std::string routine_library = {};
  // If set, the function gets the path of a pipe as an additional first argument, and the data that
  // it writes there is passed to this callback, piece by piece, on another thread.
  std::function<Result<void>(std::string_view)> take_written = {};
  // The most bytes that the function may write to that pipe, as a multiple of the process's memory.
  std::uint64_t most_written_times = 16;
  // The numbers of system calls that the function may make in addition to those of CallRules
  // (inject/call_rules.h).
  std::vector<int> allowed_calls = {};
  std::optional<std::chrono::milliseconds> patience =
      {};  // for the call, if shorter than the deadline
  CallPlace place = CallPlace::Clone;
  Returns returns = Returns::Long;
  // The thread whose stack and thread-local storage the function uses. None: the first thread of
  // the process if it can be borrowed, otherwise any.
  std::optional<pid_t> thread = {};
};

struct CallReport {
  std::string function;       // the function that was called
  std::uint64_t written = 0;  // bytes, to the pipe
  std::string output;         // the function's standard output, and its standard error
  std::string errors;
  std::optional<std::string> value;  // the result as text; none: the function did not return
  bool is_timeout = false;           // the function did not finish in time
  std::string ending;                // how the function ended, if it did not return
  std::vector<std::string> frames;   // the stack at that point, innermost function first
  std::vector<std::string> notes;    // what the function tried to do but was not allowed to
};

// Makes a clone of the process, calls the function there, and ends the clone. Fails only if the
// call was never made; otherwise the report shows how the function ended.
Result<CallReport> call_in_clone(const CallOptions& options);

}  // namespace heapattach
