#include <vector>

#include <doctest/doctest.h>

#include "report/cli/options.h"
#include "report/format/export/formats.h"

namespace heapattach {

namespace {

ParsedOptions parse(const std::vector<const char*>& arguments) {
  return parse_options(arguments);
}

bool is_refused(const std::vector<const char*>& arguments, std::string_view word) {
  const ParsedOptions parsed = parse(arguments);
  const auto* wrong = std::get_if<UsageError>(&parsed);
  return wrong != nullptr && wrong->message.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a call is an expression, a kind of result, and a process") {
  const ParsedOptions parsed =
      parse({"--call", "run(\"a b\", 2)", "--returns", "string", "--thread", "12", "4711"});
  const auto* options = std::get_if<Options>(&parsed);
  REQUIRE(options != nullptr);
  CHECK(options->report == Report::Call);
  CHECK(options->pid == 4711);
  CHECK(options->call.function == "run");
  CHECK(options->call.arguments.size() == 2);
  CHECK(options->returns == Returns::String);
  CHECK(options->call_thread == 12);
}

TEST_CASE("a call runs in a copy, or in the process itself, with its other threads held or not") {
  const auto place = [](const char* how) {
    const ParsedOptions parsed = parse({"--call", "run()", how, "4711"});
    const auto* options = std::get_if<Options>(&parsed);
    REQUIRE(options != nullptr);
    CHECK(options->pid == 4711);
    return options->place;
  };
  CHECK(place("-q") == CallPlace::Clone);
  CHECK(place("--in-place") == CallPlace::Held);
  CHECK(place("--in-place=hold") == CallPlace::Held);
  CHECK(place("--in-place=run") == CallPlace::Running);
  CHECK(is_refused({"--call", "run()", "--in-place=fly", "4711"}, "hold, run"));
  CHECK(is_refused({"--in-place", "4711"}, "--call"));
  CHECK(is_refused({"--inject", "--in-place", "4711"}, "--call"));
}

TEST_CASE("additional system calls are allowed by name") {
  const ParsedOptions parsed = parse({"--call", "run()", "--allow-calls", "semop,socket", "4711"});
  const auto* options = std::get_if<Options>(&parsed);
  REQUIRE(options != nullptr);
  CHECK(options->allowed_calls == std::vector<int>{65, 41});
  CHECK(is_refused({"--call", "run()", "--allow-calls", "semop,sock", "4711"}, "sock: no such"));
  CHECK(is_refused({"--call", "run()", "--allow-calls", "fork", "4711"}, "starts a process"));
  CHECK(is_refused({"--call", "run()", "--in-place", "--allow-calls", "semop", "4711"}, "copy"));
  CHECK(is_refused({"--count", "--allow-calls", "semop", "4711"}, "--call"));
}

TEST_CASE("anything but a call, and options not for calls, are refused") {
  CHECK(is_refused({"--call", "run", "4711"}, "'('"));
  CHECK(is_refused({"--call", "run()", "--returns", "float", "4711"}, "--returns float"));
  CHECK(is_refused({"--call", "run()", "--thread", "0", "4711"}, "--thread 0"));
  CHECK(is_refused({"--call", "run()", "--count", "4711"}, "one report"));
  CHECK(is_refused({"--call", "run()", "-f", "json", "4711"}, "--format"));
  CHECK(is_refused({"--returns", "int", "4711"}, "--call"));
  CHECK(is_refused({"--call", "run()"}, "no process"));
}

TEST_CASE("a dump routine is called for a file") {
  const ParsedOptions parsed =
      parse({"--inject", "--keep", "heap.dump", "--routine", "my_dump", "--values", "4711"});
  const auto* options = std::get_if<Options>(&parsed);
  REQUIRE(options != nullptr);
  CHECK(options->report == Report::Inject);
  CHECK(options->keep == "heap.dump");
  CHECK(options->routine == "my_dump");
  CHECK(options->value_bytes > 0);
  CHECK(is_refused({"--inject", "--keep", "a", "-o", "b", "4711"}, "-o"));
  CHECK(is_refused({"--inject", "--keep", "a", "-f", "jsonl", "4711"}, "--format"));
  CHECK(is_refused({"--inject", "--values", "4711"}, "--values"));
  CHECK(is_refused({"--keep", "heap.dump", "4711"}, "--inject"));
  CHECK(is_refused({"--inject", "--keep", "a", "--call", "run()", "4711"}, "one report"));
}

TEST_CASE("without a file to keep, a dump becomes a snapshot like any other") {
  const ParsedOptions plain = parse({"--inject", "4711"});
  REQUIRE(std::get_if<Options>(&plain) != nullptr);
  CHECK(std::get<Options>(plain).format->name == "jsonl");
  const ParsedOptions exported = parse({"--inject", "-o", "heap.svg", "4711"});
  REQUIRE(std::get_if<Options>(&exported) != nullptr);
  CHECK(writes<&Format::snapshot>(*std::get<Options>(exported).format));
}

}  // namespace heapattach
