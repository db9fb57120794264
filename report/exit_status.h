#pragma once

#include <array>
#include <string_view>

#include "attach/base/error.h"

namespace heapattach {

// The exit status of heapattach, and of each run that it starts for a report.
enum class ExitStatus : int {
  Complete = 0,
  Failed = 1,  // an error not listed here, such as a file that cannot be read
  Usage = 2,
  Gone = 3,          // no such process, or it exited during the report
  Denied = 4,        // not permitted
  NoHeap = 5,        // the process has no supported heap
  Timeout = 6,       // the deadline passed; the output so far is marked partial
  Partial = 7,       // only part of the heap could be read; the output is marked partial
  Output = 8,        // the output could not be written
  Traced = 9,        // another process already traces it
  FailIfHeld = 10,   // a --fail-if condition was true
  NotReleased = 11,  // the target could not be released cleanly
  Interrupted = 130,
  Terminated = 143,
};

// Whether heapattach has written a report, perhaps of a part of the heap.
[[nodiscard]] constexpr bool is_report(ExitStatus status) {
  return status == ExitStatus::Complete || status == ExitStatus::Partial;
}

// The meaning of each status.
struct StatusText {
  ExitStatus status;
  std::string_view brief;  // in a word or two, for --help all
  std::string_view text;   // in a sentence, for the man page, README.md, and the JSON schemas
  unsigned http = 500;     // what `heapattach serve` answers if a run ends so without a report
};
inline constexpr std::array kStatusTexts{
    StatusText{ExitStatus::Complete, "complete", "complete"},
    StatusText{ExitStatus::Failed, "other error",
               "an error not listed here, such as a file that cannot be read"},
    StatusText{ExitStatus::Usage, "usage",
               "usage error, including --fail-if or --type with an unknown type (without "
               "--allow-missing)"},
    StatusText{ExitStatus::Gone, "no such process",
               "no such process, or it exited during the report", 404},
    StatusText{ExitStatus::Denied, "not permitted",
               "not permitted; the message gives the cause and says what to do", 403},
    StatusText{ExitStatus::NoHeap, "no supported heap",
               "the process has no supported heap; the message lists what was searched",
               422},  // the request is valid; the process is the wrong one
    StatusText{ExitStatus::Timeout, "deadline passed",
               "the deadline passed; the output so far is marked partial", 504},
    StatusText{ExitStatus::Partial, "only partly read",
               "only part of the heap could be read; the output is marked partial"},
    StatusText{ExitStatus::Output, "output not written", "the output could not be written"},
    StatusText{ExitStatus::Traced, "traced by another process",
               "another process already traces it; the message names that process", 503},
    StatusText{ExitStatus::FailIfHeld, "--fail-if was true", "a --fail-if condition was true"},
    StatusText{
        ExitStatus::NotReleased, "not released cleanly",
        "the target could not be released cleanly; the message gives the command that releases it"},
    StatusText{ExitStatus::Interrupted, "interrupted",
               "interrupted by SIGINT; the target was released first"},
    StatusText{ExitStatus::Terminated, "terminated",
               "ended by SIGTERM; the target was released first"},
};

// The HTTP status for a run that gave no report.
[[nodiscard]] constexpr unsigned http_status_of(ExitStatus status) {
  for (const StatusText& row : kStatusTexts) {
    if (row.status == status) return row.http;
  }
  return 500;
}

// The subject of an error: the same errno means different things for the target and for a file.
enum class Stage { Target, Output };

// The statuses for a kind of error, in each stage. A kind that is missing here is an error in every
// build.
struct StatusOfKind {
  ExitStatus target = ExitStatus::Failed;
  ExitStatus output = ExitStatus::Output;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
[[nodiscard]] constexpr StatusOfKind status_of_kind(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Gone: return {.target = ExitStatus::Gone};
    case ErrorKind::Denied: return {.target = ExitStatus::Denied};
    case ErrorKind::Traced: return {.target = ExitStatus::Traced};
    case ErrorKind::Unsupported: return {.target = ExitStatus::NoHeap};
    case ErrorKind::Timeout: return {ExitStatus::Timeout, ExitStatus::Timeout};
    case ErrorKind::Interrupted: return {ExitStatus::Interrupted, ExitStatus::Interrupted};
    case ErrorKind::Usage: return {ExitStatus::Usage, ExitStatus::Usage};
    case ErrorKind::Fault:
    case ErrorKind::Malformed:
    case ErrorKind::Impossible:
    case ErrorKind::Os: break;
  }
  return {};
}
#pragma GCC diagnostic pop

// The status for an error. `signal` is the signal that interrupted us, if any.
[[nodiscard]] constexpr ExitStatus exit_status_of(ErrorKind kind, Stage stage, int signal = 0) {
  constexpr int kSigTerm = 15;
  if (kind == ErrorKind::Interrupted && signal == kSigTerm) return ExitStatus::Terminated;
  const StatusOfKind status = status_of_kind(kind);
  return stage == Stage::Target ? status.target : status.output;
}

}  // namespace heapattach
