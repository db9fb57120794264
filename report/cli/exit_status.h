#pragma once

#include "attach/error.h"

namespace heapattach {

// What the process tells its caller; the README and --help list them.
enum class ExitStatus : int {
  Complete = 0,
  Failed = 1,  // an error not listed here
  Usage = 2,
  Gone = 3,          // no such process, or it exited meanwhile
  Denied = 4,        // not permitted
  NoHeap = 5,        // no supported heap in it
  Timeout = 6,       // the deadline passed; what was written is marked partial
  Partial = 7,       // the heap could be read only in part; written, and marked partial
  Output = 8,        // the output could not be written
  Traced = 9,        // another process already traces it
  FailIfHeld = 10,   // a --fail-if held
  NotReleased = 11,  // the target could not be released cleanly
  Interrupted = 130,
  Terminated = 143,
};

// Where an error came up. The same error of the kernel means another thing to the user when it is
// about the target and when it is about a file.
enum class Stage { Target, Output };

// The status for an error; `signal` is the one that interrupted us, if one did.
[[nodiscard]] constexpr ExitStatus exit_status_of(ErrorKind kind, Stage stage, int signal = 0) {
  constexpr int kSigTerm = 15;
  if (kind == ErrorKind::Interrupted) {
    return signal == kSigTerm ? ExitStatus::Terminated : ExitStatus::Interrupted;
  }
  if (kind == ErrorKind::Timeout) return ExitStatus::Timeout;
  if (stage == Stage::Output) return ExitStatus::Output;
  switch (kind) {
    case ErrorKind::Gone: return ExitStatus::Gone;
    case ErrorKind::Denied: return ExitStatus::Denied;
    case ErrorKind::Traced: return ExitStatus::Traced;
    case ErrorKind::Unsupported: return ExitStatus::NoHeap;
    default: return ExitStatus::Failed;
  }
}

}  // namespace heapattach
