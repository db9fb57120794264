#include "attach/base/deadline.h"

#include <csignal>

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("without a limit, a deadline never passes") {
  const Deadline never;
  CHECK_FALSE(never.has_passed());
  CHECK(never.check("testing"));
}

TEST_CASE("a deadline that has passed is a timeout of what was being done") {
  const Deadline past = Deadline::in(std::chrono::milliseconds(0));
  CHECK(past.has_passed());
  const auto checked = past.check("testing");
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::Timeout);
  CHECK(checked.error().message() == "testing: the deadline passed");
}

TEST_CASE("an interrupted run has no more time, whatever its deadline") {
  Deadline interrupted = Deadline::in(std::chrono::milliseconds(0));
  interrupted.interrupted = []() noexcept { return std::optional<int>(SIGINT); };
  const auto checked = interrupted.check("testing");
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::Interrupted);
  CHECK(checked.error().message() == "testing: interrupted");
}

}  // namespace heapattach
