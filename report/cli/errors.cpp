#include "report/cli/errors.h"

#include <cerrno>

#include <fmt/format.h>

namespace heapattach {

namespace {

std::string_view advice_on_output(const Error& error) {
  switch (error.os_errno) {
    case ENOSPC:
    case EDQUOT: return "write elsewhere with -o, or compress with -z";
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR: return "name another file with -o";
    default: return {};
  }
}

std::string_view advice_on_target(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Gone: return "pgrep -a NAME, which finds the pid";
    default: return {};
  }
}

}  // namespace

std::string error_message(const Error& error, Stage stage) {
  if (!error.advice.empty()) return error.text();
  std::string_view advice;
  if (error.kind == ErrorKind::Timeout) {
    advice = "allow more time with --timeout";
  } else if (stage == Stage::Output) {
    advice = advice_on_output(error);
  } else {
    advice = advice_on_target(error);
  }
  return Error(error).advise(std::string(advice)).text();
}

ExitStatus report_failure(const Error& error,
                          Stage stage,
                          const Deadline& deadline,
                          Console& console) {
  console.error(error_message(error, stage));
  return exit_status_of(error.kind, stage, deadline.interrupted().value_or(0));
}

}  // namespace heapattach
