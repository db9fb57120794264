// A Ruby application under load: its leak is named, and its visitors notice nothing, not even if
// heapattach is killed.

#include <csignal>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/ruby_program.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

using namespace std::chrono_literals;

class Shop {
 public:
  Shop() : child_({kRuby, script()}, {.capture_stderr = false}) {
    REQUIRE(child_.read_line(60s) == "ready");
  }

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  // Whether all visitors got what they asked for, and some asked since the last call.
  bool serves() {
    const std::int64_t before = requests_;
    return eventually(60s,
                      [&] {
                        requests_ = ask("requests=");
                        return requests_ > before;
                      }) &&
           ask("failed=") == 0;
  }

 private:
  static std::string script() {
    const std::string here = __FILE__;
    return here.substr(0, here.rfind('/')) + "/targets/ruby_shop.rb";
  }
  std::int64_t ask(const std::string& what) {
    child_.send_line("");
    const auto line = child_.read_line(60s);
    REQUIRE(line);
    return std::stoll(line->substr(line->find(what) + what.size()));
  }

  ChildProcess child_;
  std::int64_t requests_ = 0;
};

}  // namespace

TEST_CASE("the leak of a Ruby application is named while its visitors are served") {
  if (is_ruby_missing()) return;
  Shop shop;
  CHECK(shop.serves());
  for (int round = 0; round < rounds(1, 20); ++round) {
    const ToolRun run = run_tool({"suspects", fmt::format("{}", shop.pid())});
    // A report that was read from outside is partial.
    CHECK_MESSAGE((run.status == 0 || run.status == 7), run.errors);
    const std::string first = run.output.substr(0, run.output.find("\n2. "));
    for (const std::string part : {"Audit", "@trail", "Audit::Entry"}) {
      CHECK_MESSAGE(first.find(part) != std::string::npos, part, " is not in ", first);
    }
    CHECK(harm_done_to(shop.pid()) == "");
    CHECK(shop.serves());
  }
}

TEST_CASE("a Ruby application serves its visitors although heapattach is killed") {
  if (is_ruby_missing()) return;
  constexpr int kLongestMs = 1200;
  Shop shop;
  CHECK(shop.serves());
  const std::string pid = fmt::format("{}", shop.pid());
  for (int round = 0; round < rounds(15, 1000); ++round) {
    ChildProcess tool(round % 3 == 0 ? std::vector<std::string>{tool_path(), "--suspects",
                                                                "--snapshot", "freeze", pid}
                                     : std::vector<std::string>{tool_path(), "--suspects", pid});
    ::usleep(static_cast<useconds_t>(std::rand() % kLongestMs) * 1000);
    tool.signal(SIGKILL);
    REQUIRE(tool.wait_end(30s).has_value());
    CHECK(eventually(30s, [&] { return harm_done_to(shop.pid()).empty(); }));
  }
  CHECK(shop.serves());
}

}  // namespace heapattach
