#include "attach/error.h"

#include <cerrno>

#include <doctest/doctest.h>

using namespace heapattach;

TEST_CASE("an error reads from the outermost step to the innermost and keeps its kind") {
  const Error error = os_error("PTRACE_SEIZE", ESRCH).context("stopping thread 4711");
  CHECK(error.kind == ErrorKind::Gone);
  CHECK(error.os_errno == ESRCH);
  CHECK(error.message == "stopping thread 4711: PTRACE_SEIZE: No such process");
}
