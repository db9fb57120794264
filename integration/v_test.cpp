// V: objects have the names of its types.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/language_counts.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

void check_v(const std::string& name) {
  LiveTarget target(name);
  const Answer& truth = target.greeting();
  const Count count = count_of(target.pid(), Release{"V", "", true});
  CHECK(count.objects.at("main.Session") == truth.at("sessions"));
  CHECK(count.objects.at("(buffer of []main.Item)") == truth.at("item_buffers"));
  CHECK(count.objects.at("(buffer of []int)") == truth.at("rows"));
  CHECK(count.objects.at("(buffer of []&main.Session)") == 2);
  CHECK(count.objects.at("(buffer of map[string]&main.Session)") == 2);
  CHECK(count.objects.at("(buffer of map[int]f64)") == 2);
  CHECK(count.objects.at("main.Circle") == truth.at("circles"));
  CHECK(count.objects.at("main.Square") == truth.at("squares"));
  CHECK(count.objects.at("main.Dog") == truth.at("dogs"));
  CHECK(count.objects.at("main.Cat") == truth.at("cats"));
  CHECK_FALSE(count.objects.contains("(value of main.Shape)"));
  // Nothing in this program shows which number means which type of an event.
  CHECK(count.objects.at("(value of main.Event)") == truth.at("events"));
  CHECK(count.objects.at("(buffer of string)") == truth.at("texts"));
  // The buffers of a map whose typedef can be understood in two ways.
  CHECK(count.objects.at("(unknown)") == 2);
  CHECK(count.named > 0.95);
  const std::string pid = fmt::format("{}", target.pid());
  const ToolRun strings = run_tool({"strings", "--top", "1", pid});
  CAPTURE(strings.output);
  CHECK(strings.output.find("  string  \"book 0\"") != std::string::npos);
  const ToolRun suspects = run_tool({"suspects", pid});
  CAPTURE(suspects.output);
  CHECK(suspects.output.find("1. one main.App keeps ") != std::string::npos);
}

}  // namespace

// V's compiler may be missing, but a C program can imitate its output.
TEST_CASE("a program in the shape of V's C has V's names for arrays, maps and strings") {
  for (const std::string name : {"v_shaped", "v_shaped_managed"}) {
    CAPTURE(name);
    if (is_target_built(name)) check_v(name);
  }
}

}  // namespace heapattach
