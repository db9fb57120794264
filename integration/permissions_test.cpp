// HAZARDS E9: what an ordinary user may freeze, and what is said of the rest.

#include <doctest/doctest.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"

using namespace heapattach;
using namespace std::chrono_literals;

namespace {

constexpr uid_t kUser = 1000;
constexpr uid_t kOtherUser = 1001;

// What the freeze says to user `kUser` about `pid`.
std::string freeze_as_user(pid_t pid) {
  ChildProcess tool({FREEZE_TOOL, std::to_string(pid)}, {.uid = kUser});
  std::string text = tool.read_rest(10s);
  CHECK(tool.wait_end(5s).has_value());
  return text.rfind("began\n", 0) == 0 ? text.substr(6) : "it did not start: " + text;
}

bool can_change_user() {
  if (::geteuid() == 0) return true;
  print_skip("running as another user needs root");
  return false;
}

ChildOptions as(uid_t uid) {
  return {.uid = uid, .capture_stderr = false};
}

}  // namespace

TEST_CASE("a user may freeze a process of its own") {
  if (!can_change_user()) return;
  LiveTarget target("plain", {}, as(kUser));
  CHECK(freeze_as_user(target.pid()).rfind("frozen threads=1", 0) == 0);
  CHECK(target.ask().at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a process that hides from its own user is refused for that reason") {
  if (!can_change_user()) return;
  LiveTarget target("plain", {"--hide"}, as(kUser));
  const std::string text = freeze_as_user(target.pid());
  CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
  CHECK_MESSAGE(text.find(std::to_string(target.pid())) != std::string::npos, text);
  CHECK_MESSAGE(text.find("dumpable") != std::string::npos, text);
  CHECK_MESSAGE(text.find("root") != std::string::npos, text);
  CHECK(target.ask().at("interrupted") == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("another user's process is refused for that reason") {
  if (!can_change_user()) return;
  for (const uid_t owner : {uid_t{0}, kOtherUser}) {
    LiveTarget target("plain", {}, as(owner));
    const std::string text = freeze_as_user(target.pid());
    CHECK_MESSAGE(text.rfind("Denied", 0) == 0, text);
    CHECK_MESSAGE(text.find("user") != std::string::npos, text);
    CHECK_MESSAGE(text.find(std::to_string(owner)) != std::string::npos, text);
    CHECK(target.ask().at("interrupted") == 0);
    CHECK(harm_done_to(target.pid()) == "");
  }
}
