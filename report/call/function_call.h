#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/call/call_expression.h"
#include "report/deadline.h"
#include "symbols/elf/module.h"

namespace heapattach {

// What a function's result is to be shown as.
enum class Returns : std::uint8_t {
  Long,     // all 64 bits, with a sign
  Int,      // the lower 32 bits, with a sign: what a C function declared int gives
  Pointer,  // in hexadecimal
  String,   // what is in memory there, up to a zero byte
};

// Where a function runs.
enum class CallPlace : std::uint8_t {
  Clone,
  Held,     // in the process itself, whose other threads stand still meanwhile
  Running,  // … run on meanwhile
};

struct CallOptions {
  pid_t pid = 0;
  CallExpression call;
  std::vector<std::string> or_else;  // other functions, where there is none of that name
  // The shared library that is loaded into the clone for it where there is none of these either, as
  // the target sees it; empty: none.
  std::string routine_library;
  // If set, the function gets the path of a pipe before its other arguments, and what it writes
  // there comes here, piece by piece, on another thread.
  std::function<Result<void>(std::string_view)> take_written;
  // What it may write there, as a multiple of the process's own memory.
  std::uint64_t most_written_times = 16;
  // System calls that it may make besides those of CallRules (inject/call_rules.h), by number.
  std::vector<int> allowed_calls;
  std::optional<std::chrono::milliseconds> patience;  // with the call, if less than the deadline's
  CallPlace place = CallPlace::Clone;
  Returns returns = Returns::Long;
  // Which thread's stack and thread-local storage it runs with; none: the first thread's if that
  // may be borrowed, else any.
  std::optional<pid_t> thread;
  bool rewind = true;
  std::optional<std::chrono::milliseconds> max_pause;
  SymbolSearch symbols;
  Deadline deadline;
  // Told of each step and why, for -v. May be empty.
  std::function<void(std::string_view)> note;
  // Told what the user has to know before. May be empty.
  std::function<void(std::string_view)> warn;
};

struct CallReport {
  std::string function;       // that was called
  std::uint64_t written = 0;  // bytes, to the pipe
  std::string output;         // what the function wrote to its standard output, and to the other
  std::string errors;
  std::optional<std::string> value;  // what it returned, as text; none: it did not
  bool is_timeout = false;           // it did not end at all
  std::string ending;                // what became of it, if it did not return
  std::vector<std::string> frames;   // where it was then, the innermost function first
  std::vector<std::string> notes;    // what it wanted to do and could not
};

// Makes a clone of the process, calls the function there, and ends the clone. An error if it did
// not come to the call; what the function makes of it is no error but a report.
Result<CallReport> call_in_clone(const CallOptions& options);

}  // namespace heapattach
