// Nim: objects have the types that their own type information states.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/language_counts.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

// This program has debug information, and loads the collector at run time.
TEST_CASE(
    "a Nim program's objects have the type that they say, and not the one of their variable") {
  if (!is_target_built("sessions_nim")) return;
  const Release nim = release_of("nim", {"nim", "--version"}, {"1.6"});
  LiveTarget target("sessions_nim");
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), nim);
  if (!nim.is_tried && !count.objects.contains("Admin")) {
    return print_untried(nim, "its objects say something else");
  }
  CHECK(count.objects.at("Session") == truth.at("sessions"));
  CHECK(count.objects.at("Admin") == truth.at("admins"));
  CHECK(count.objects.at("Cart") == truth.at("carts"));
  CHECK(count.objects.at("seq[Item]") == truth.at("carts"));
  CHECK(count.objects.at("closure of totalOf") == truth.at("carts"));
  CHECK(count.objects.at("seq[tuple[int, string, int]]") == 1);
  CHECK(count.named > 0.99);
  for (const auto& row : count.objects) {
    const std::string& name = row.first;
    CAPTURE(name);
    CHECK(name.find("tyObject_") == std::string::npos);
  }
  const ToolRun strings = run_tool({"strings", "--top", "1", fmt::format("{}", target.pid())});
  CAPTURE(strings.output);
  CHECK(strings.output.find("guest 0") != std::string::npos);
  const ToolRun suspects = run_tool({"suspects", fmt::format("{}", target.pid())});
  CAPTURE(suspects.output);
  CHECK(suspects.output.find("1. one seq[Session] keeps ") != std::string::npos);
  CHECK(suspects.output.find("global sessions__") != std::string::npos);
}

namespace {

// Checks the names that come from the type information of objects of inheritable types.
void check_nim_types(const std::string& program, const std::map<std::string, std::string>& names) {
  CAPTURE(program);
  const Release nim = release_of("nim", {"nim", "--version"}, {"1.6"});
  if (!nim.is_tried) return print_untried(nim, "only with debug information");
  LiveTarget target(program);
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), nim);
  for (const auto& expected : names) {
    const std::string& name = expected.first;
    CAPTURE(name);
    REQUIRE(count.objects.contains(name));
    CHECK(count.objects.at(name) == truth.at(expected.second));
  }
  CHECK(count.objects.at("string") >= truth.at("sessions") + truth.at("admins"));
  // Only variables reference the carts, and nothing shows the types of variables.
  CHECK_FALSE(count.objects.contains("cart"));
  CHECK(count.named > 0.7);
  print_figure(fmt::format("{}: {:.1f} % of the bytes have names", program, 100 * count.named));
  const ToolRun strings = run_tool({"strings", "--top", "1", fmt::format("{}", target.pid())});
  CAPTURE(strings.output);
  CHECK(strings.output.find("guest 0") != std::string::npos);
}

}  // namespace

TEST_CASE("without debug information, Nim's own type information names objects") {
  if (!is_target_built("sessions_nim")) return;
  check_nim_types("sessions_nim_symbols", {{"session", "sessions"},
                                           {"admin", "admins"},
                                           {"seq[int]", "admins"},
                                           {"(closure with price1)", "carts"}});
  check_nim_types("sessions_nim_stripped", {{"(object with name, visits)", "sessions"},
                                            {"(object with level, log, name, visits)", "admins"},
                                            {"seq[int]", "admins"},
                                            {"(closure with price1)", "carts"}});
}

namespace {

// The answer of `why` about the only object that an expression finds.
std::string path_to(const std::string& expression, pid_t pid) {
  const std::string target = fmt::format("{}", pid);
  const ToolRun found = run_tool({"-q", "find", expression, target});
  CAPTURE(expression);
  CAPTURE(found.output);
  CAPTURE(found.errors);
  const std::size_t at = found.output.find("0x");
  REQUIRE(at != std::string::npos);
  const std::size_t end = found.output.find_first_of(" \n", at);
  return run_tool({"-q", "why", found.output.substr(at, end - at), target}).output;
}

// How many objects an expression finds.
std::size_t count_found(const std::string& expression, const std::string& source) {
  const ToolRun found = run_tool({"-q", "find", expression, source});
  CAPTURE(expression);
  CAPTURE(found.errors);
  CHECK(found.status == 0);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = found.output.find("0x", at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE(
    "the fields of a Nim variant object are those of the branch that its discriminator says") {
  if (!is_target_built("variants_nim")) return;
  const Release nim = release_of("nim", {"nim", "--version"}, {"1.6"});
  if (!nim.is_tried) return print_untried(nim, "its own type information may differ");
  LiveTarget target("variants_nim");
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), nim);
  CHECK(count.objects.at("Item") == truth.at("items"));
  CHECK(count.objects.at("Variant") == truth.at("variants"));
  CHECK(count.objects.at("Event") == truth.at("events"));
  CHECK(count.objects.at("Pair") == truth.at("pairs"));
  CHECK(count.objects.at("JsonNodeObj") == truth.at("nodes"));

  const std::string in_item = path_to("Item[price == 1]", target.pid());
  CAPTURE(in_item);
  CHECK(in_item.find(" data[2] → ") != std::string::npos);
  CHECK(in_item.find(" item → ") != std::string::npos);
  const std::string in_items = path_to("Item[price == 3]", target.pid());
  CAPTURE(in_items);
  CHECK(in_items.find(" data[3] → ") != std::string::npos);
  CHECK(in_items.find(" items → ") != std::string::npos);
  CHECK(in_items.find(" data[1] → ") != std::string::npos);
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  const std::string pid = fmt::format("{}", target.pid());
  REQUIRE(run_tool({"-q", "--values", "-o", file, pid}).status == 0);
  for (const std::string& source : {pid, file}) {
    CAPTURE(source);
    CHECK(count_found("Variant[number == 5]", source) == 1);
    // A file has one list of fields for all branches, and refuses those that reference objects.
    if (source == pid) CHECK(count_found("Variant[text == \"text 6\"]", source) == 1);
    CHECK(count_found("Variant[count == 2]", source) == 20);
    CHECK(count_found("Variant[kind == \"kNothing\"]", source) == 20);
    if (source == pid) CHECK(count_found("Variant[item.price > 0]", source) == 20);
    CHECK(count_found("Event[isLate == true]", source) == 10);
    if (source == pid) CHECK(count_found("Event[sender.price > 0]", source) == 20);
  }
}

TEST_CASE(
    "without debug information, too, the discriminator of a Nim object says which fields it has") {
  if (!is_target_built("variants_nim")) return;
  const Release nim = release_of("nim", {"nim", "--version"}, {"1.6"});
  if (!nim.is_tried) return print_untried(nim, "its own type information may differ");
  const std::vector<std::pair<std::string, std::string>> names = {
      {"variants_nim_symbols", "item"}, {"variants_nim_stripped", "(object with price)"}};
  for (const auto& one : names) {
    const auto& [program, name] = one;
    CAPTURE(one.first);
    LiveTarget target(program);
    const Count count = count_of(target.pid(), nim);
    REQUIRE(count.objects.contains(name));
    // Nothing but the Events says its type.
    CHECK(count.objects.at(name) == target.greeting().at("event_items"));
  }
}

TEST_CASE("a Nim program with an allocator of its own is named, with and without symbols") {
  if (!is_target_built("sessions_nim_orc")) return;
  for (const std::string name : {"sessions_nim_orc", "sessions_nim_orc_stripped"}) {
    CAPTURE(name);
    LiveTarget target(name);
    const ToolRun run = run_tool({"count", fmt::format("{}", target.pid())});
    CAPTURE(run.errors);
    CHECK(run.errors.find("Nim keeps its objects in an allocator of its own") != std::string::npos);
    CHECK(run.errors.find("--mm:boehm") != std::string::npos);
  }
}

}  // namespace heapattach
