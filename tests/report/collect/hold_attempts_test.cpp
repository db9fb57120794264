#include "report/collect/hold_attempts.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach {

using snapshot::Hold;

namespace {

// The results that once() returns, one by one, and a record of its calls.
struct Script {
  std::vector<Result<bool>> results;
  std::vector<Hold> holds = {};
  std::vector<bool> lasts = {};
  int waits = 0;
  int fresh_starts = 0;
  std::string notes = {};
  Request request = {};
  snapshot::TakeOptions options{request};

  Result<void> run(Hold asked, Hold first) {
    options.hold = asked;
    request.on_step = [this](std::string_view text) { notes += text; };
    return hold_attempts(first, options,
                         {[this](Hold hold, bool is_last) {
                            REQUIRE(holds.size() < results.size());
                            holds.push_back(hold);
                            lasts.push_back(is_last);
                            return results[holds.size() - 1];
                          },
                          [this]() -> Result<void> {
                            ++fresh_starts;
                            return {};
                          },
                          [this] { ++waits; }});
  }
};

}  // namespace

TEST_CASE("a heap that is consistent at once is copied once") {
  Script script{.results = {true}};
  CHECK(script.run(Hold::Freeze, Hold::Freeze));
  CHECK(script.holds == std::vector<Hold>{Hold::Freeze});
  CHECK(script.waits == 0);
}

TEST_CASE("an inconsistent heap is tried four times, and the last accepts what does not fit") {
  Script script{.results = {false, false, false, true}};
  CHECK(script.run(Hold::Freeze, Hold::Freeze));
  CHECK(script.lasts == std::vector<bool>{false, false, false, true});
  CHECK(script.waits == 3);
  CHECK(script.fresh_starts == 0);
}

TEST_CASE(
    "a refused clone gives way to a freeze, with a fresh start, only where that was left open") {
  for (const ErrorKind kind : {ErrorKind::Impossible, ErrorKind::Denied}) {
    Script automatic{.results = {Error{kind, "no clone"}, true}};
    CHECK(automatic.run(Hold::Auto, Hold::Clone));
    CHECK(automatic.holds == std::vector<Hold>{Hold::Clone, Hold::Freeze});
    CHECK(automatic.fresh_starts == 1);
    CHECK(automatic.notes == "no clone: freezing instead");
    Script asked{.results = {Error{kind, "no clone"}}};
    const auto refused = asked.run(Hold::Clone, Hold::Clone);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == kind);
  }
}

TEST_CASE("another error of a clone ends the attempts, and so does any error of a freeze") {
  Script clone{.results = {Error{ErrorKind::Gone, "exited"}}};
  CHECK_FALSE(clone.run(Hold::Auto, Hold::Clone));
  Script freeze{.results = {Error{ErrorKind::Impossible, "no clone"},
                            Error{ErrorKind::Denied, "not permitted"}}};
  const auto denied = freeze.run(Hold::Auto, Hold::Clone);
  REQUIRE_FALSE(denied);
  CHECK(denied.error().kind == ErrorKind::Denied);
}

TEST_CASE("no attempt is made after the deadline") {
  Script script{.results = {false, true}};
  script.request.deadline.at = std::chrono::steady_clock::time_point::min();
  const auto late = script.run(Hold::Freeze, Hold::Freeze);
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::Timeout);
  CHECK(script.holds.size() == 1);
}

}  // namespace heapattach
