// Finds objects by the contents of their fields, in a live service and in its snapshot: exactly
// those that the service made with such a field. Other reports accept their addresses.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

// The addresses of what an expression finds in a process or file.
std::vector<std::string> found_in(const std::string& source, const std::string& expression) {
  const ToolRun run = run_tool({"-q", "--find", expression, "-f", "json", source});
  INFO(run.errors);
  REQUIRE(run.status == 0);
  simdjson::dom::parser parser;
  const simdjson::dom::object report = parser.parse(run.output);
  std::vector<std::string> addresses;
  for (const simdjson::dom::object object : simdjson::dom::array(report["found"])) {
    addresses.emplace_back(std::string_view(object["address"]));
  }
  return addresses;
}

}  // namespace

TEST_CASE("an object is found by a text that a field of it references, live and saved") {
  if (!is_target_built("leaking_debug")) return print_skip("no Crystal compiler");
  LiveTarget target("leaking_debug");
  (void)target.ask("cache=300");  // after 2000 visitors: /product/2000 to /product/2299
  const std::string pid = fmt::format("{}", target.pid());
  const auto one = found_in(pid, R"(Product[@name == "/product/2007"])");
  REQUIRE(one.size() == 1);
  CHECK(found_in(pid, R"(Product[@name ~ "/product/20*"])").size() == 100);
  CHECK(found_in(pid, R"(Product[@name == "/product/2300"])").empty());
  CHECK(found_in(pid, "Shop[@served == 2300]").size() == 1);
  CHECK(found_in(pid, "Shop[@served > 2300]").empty());
  const ToolRun why = run_tool({"--why", one[0], pid});
  CHECK(why.status == 0);
  CHECK(why.output.find("@products") != std::string::npos);

  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl.gz");
  REQUIRE(run_tool({"-q", "--values", "-o", file, pid}).status == 0);
  const ToolRun saved = run_tool({"-q", "--find", R"(Product[@name == "/product/2007"])", file});
  CHECK(saved.output ==
        fmt::format("1 of 300 Product matches\n{}  32 bytes  Product  @name: \"/product/2007\"\n",
                    one[0]));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("an object is found by its only field, live and saved") {
  if (!is_target_built("one_field")) return print_skip("the collector's library is not installed");
  LiveTarget target("one_field");
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl.gz");
  const std::string pid = fmt::format("{}", target.pid());
  REQUIRE(run_tool({"-q", "--values", "-o", file, pid}).status == 0);
  for (const std::string& source : {pid, file}) {
    CAPTURE(source);
    CHECK(found_in(source, "struct one[number >= 20]").size() == 10);
    CHECK(found_in(source, "struct one[number == nil]").empty());
    CHECK(found_in(source, "struct outer[inner.number == 7]").size() == 1);
  }
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("a question that cannot be answered does not give an empty result") {
  if (!is_target_built("leaking_debug")) return print_skip("no Crystal compiler");
  LiveTarget target("leaking_debug");
  (void)target.ask("cache=10");
  const std::string pid = fmt::format("{}", target.pid());
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  REQUIRE(run_tool({"-q", "-o", file, pid}).status == 0);
  const auto refused = [&](const std::string& expression, std::vector<std::string> more) {
    more.insert(more.end(), {"-q", "--find", expression});
    const ToolRun run = run_tool(more);
    CHECK(run.status != 0);
    CHECK(run.output == "");
    return run.errors;
  };
  CHECK(refused("Product[@name == \"x\"]", {file}).find("--values") != std::string::npos);
  CHECK(refused("Product[@nam == \"x\"]", {pid}).find("column 9") != std::string::npos);
  CHECK(refused("Product[@name = \"x\"]", {pid}).find("column 15") != std::string::npos);
  CHECK(refused("Prodct", {pid}).find("Product") != std::string::npos);
}

}  // namespace heapattach
