#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heapattach {

// What a caller can do about a failure. Add a kind only with a caller that branches on it; anything
// else belongs in the message.
enum class ErrorKind : std::uint8_t {
  Gone,         // the process or thread exited
  Denied,       // no permission to trace or read
  Traced,       // another process traces it already
  Fault,        // that address cannot be read
  Timeout,      // the target did not stop, or a deadline passed
  Interrupted,  // the user asked us to end
  Malformed,    // bytes do not decode as what they should be
  Unsupported,  // a target or file that we do not read: 32-bit, or without a known collector
  Impossible,   // it cannot be done in this target, but another way may work
  Usage,        // what was asked for contradicts itself, or the source cannot answer it
  Os,           // any other failed system call
};

// Why an operation failed. Texts are lower case, without a full stop.
struct Error {
  ErrorKind kind;
  std::string reason;  // "PTRACE_SEIZE: Operation not permitted"
  int os_errno = 0;
  std::string advice = {};     // what the user can do about it; empty: the kind's usual advice
  std::string attempted = {};  // outermost first: "tracing the process: stopping thread 4711"

  // Prepends what was being attempted.
  [[nodiscard]] Error context(std::string_view doing) &&;
  // Sets the advice, which follows "try: ".
  [[nodiscard]] Error advise(std::string what) &&;
  // "ATTEMPTED: REASON", or the reason alone.
  [[nodiscard]] std::string message() const;
  // "MESSAGE; try: ADVICE", or the message alone.
  [[nodiscard]] std::string text() const;
};

// Classifies a failed system call by its errno, which the caller read on the line after the call.
[[nodiscard]] Error os_error(std::string_view operation, int os_errno);

}  // namespace heapattach
