// Defects of real programs, as they were in the library of Debian's Crystal. One report shows each
// defect, and shows nothing for the same program without it.

#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

bool can_run(const std::string& name) {
  if (!is_long_run()) return false;
  if (is_target_built(name)) return true;
  print_skip(name + " is not built: it needs Crystal, and the target heapattach_long_targets");
  return false;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Runs a report of a program whose types have names only in the compiler's list.
ToolRun report_on(LiveTarget& target, const std::string& name, std::vector<std::string> words) {
  words.insert(words.end(),
               {"--type-info", target_path(name) + ".ids", fmt::format("{}", target.pid())});
  return run_tool(words);
}

}  // namespace

TEST_CASE("Hash#delete that keeps keys and values: the first line names the table and its values") {
  const std::string name = "deleted_entries_release";
  if (!can_run(name)) return;
  LiveTarget target(name);
  if (target.greeting().at("kept") == 0) {
    return print_skip("this release of Crystal clears deleted entries");
  }
  const ToolRun suspects = report_on(target, name, {"suspects"});
  INFO(suspects.output);
  const std::string first = first_line(suspects.output);
  CHECK(suspects.status == 0);
  CHECK(first.find("one Hash(Int32, Session) keeps") != std::string::npos);
  CHECK(first.find("through 19900 Session") != std::string::npos);
  CHECK(suspects.output.find("global STORE") != std::string::npos);
  const std::string limit = fmt::format("count(Session) > {}", target.greeting().at("open"));
  CHECK(report_on(target, name, {"count", "--fail-if", limit}).status == 10);

  const std::string mended_name = "deleted_entries_mended";
  LiveTarget mended(mended_name);
  REQUIRE(mended.greeting().at("kept") == 0);
  CHECK(report_on(mended, mended_name, {"count", "--fail-if", limit}).status == 0);
  const ToolRun nothing = report_on(mended, mended_name, {"suspects"});
  CHECK(first_line(nothing.output).find("nothing unusual") != std::string::npos);
}

TEST_CASE("OpenSSL's peer_certificate that gives no reference back leaks one for each connection") {
  const std::string name = "peer_certificates_default";
  if (!can_run(name)) return;
  const TemporaryDirectory directory;
  const ToolRun made = run_in_shell(
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout \"$1/key\" "
      "-out \"$1/certificate\"",
      {directory.path()});
  if (made.status != 0) return print_skip("openssl makes no certificate");
  constexpr std::int64_t kConnections = 100;
  const std::vector<std::string> arguments = {directory.file("certificate"), directory.file("key"),
                                              fmt::format("{}", kConnections)};
  const auto leaks_of = [](const LiveTarget& target) {
    const ToolRun run =
        run_tool({"leaks", "--heap", "both", "-f", "json", fmt::format("{}", target.pid())});
    INFO(run.errors);
    REQUIRE(run.status == 0);
    INFO(run.output);
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(run.output);
    return std::int64_t{root["leaks"]};
  };
  LiveTarget mended("peer_certificates_mended", arguments);
  CHECK(leaks_of(mended) == 0);
  LiveTarget target(name, arguments);
  if (target.greeting().at("crystal") > 106) {
    return print_skip("peer_certificate of this release of Crystal is not known");
  }
  // Old words on a stack still reference a few of the last connections.
  CHECK(leaks_of(target) > kConnections / 2);
}

}  // namespace heapattach
