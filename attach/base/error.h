#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heapattach {

// Classifies failures by what a caller can do about them. Add a kind only together with a caller
// that branches on it; other details belong in the message.
enum class ErrorKind : std::uint8_t {
  Gone,         // the process or thread exited
  Denied,       // no permission to trace or read
  Traced,       // another process traces it already
  Fault,        // the address cannot be read
  Timeout,      // the target did not stop, or a deadline passed
  Interrupted,  // the user interrupted us
  Malformed,    // bytes do not have the expected format
  Unsupported,  // a target or file that we cannot handle: 32-bit, or without a known collector
  Impossible,   // not possible in this target, but another method may work
  Usage,        // the options contradict each other, or do not suit the source
  Os,           // any other failed system call
};

// Describes a failed operation. Texts are in lower case, without a full stop.
struct Error {
  ErrorKind kind;
  std::string reason;  // "PTRACE_SEIZE: Operation not permitted"
  int os_errno = 0;
  std::string advice = {};     // what the user can try; empty: the kind's default advice
  std::string attempted = {};  // outermost first: "tracing the process: stopping thread 4711"

  // Prepends a description of what was attempted.
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
