#include "attach/base/error.h"

#include <cerrno>

#include <doctest/doctest.h>

#include "attach/sandbox/open_file.h"

namespace heapattach {

TEST_CASE("an error reads from the outermost step to the innermost and keeps its kind") {
  const Error error = os_error("PTRACE_SEIZE", ESRCH)
                          .context("stopping thread 4711")
                          .context("tracing")
                          .advise("x");
  CHECK(error.attempted == "tracing: stopping thread 4711");
  CHECK(error.reason == "PTRACE_SEIZE: No such process");
  CHECK(error.advice == "x");
  CHECK(error.kind == ErrorKind::Gone);
  CHECK(error.os_errno == ESRCH);
  CHECK(error.message() == "tracing: stopping thread 4711: PTRACE_SEIZE: No such process");
  CHECK(error.text() == error.message() + "; try: x");
}

TEST_CASE(
    "a file that cannot be opened is not a process that is gone, and an interruption stays one") {
  CHECK(error_of_source(os_error("open heap.core", ESRCH)).kind == ErrorKind::Os);
  CHECK(error_of_source(os_error("open heap.core", EACCES)).kind == ErrorKind::Os);
  const Error interrupted = error_of_source({ErrorKind::Interrupted, "interrupted by SIGTERM"});
  CHECK(interrupted.kind == ErrorKind::Interrupted);
  CHECK(interrupted.message() == "interrupted by SIGTERM");
}

}  // namespace heapattach
