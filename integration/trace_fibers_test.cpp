// The fibers of a Crystal program in a trace of it.

#include <map>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "integration/rounds.h"
#include "integration/tracing.h"
#include "report/trace/cells.h"

namespace heapattach {

namespace {

// The allocations of a trace, by type and by the name of the fiber.
std::map<std::pair<std::string, std::string>, double> made_by_fibers(const trace::Trace& trace) {
  std::map<std::pair<std::string, std::string>, double> made;
  for (const trace::Cell& cell : trace::count_cells(trace, {.fibers = true})) {
    if (cell.type == trace::kNone) continue;
    const std::string fiber =
        cell.fiber == trace::kNone ? "(unknown)" : trace.fibers[cell.fiber].name;
    made[{trace.types[cell.type].name, fiber}] += cell.amounts.allocations;
  }
  return made;
}

}  // namespace

TEST_CASE("an allocation of a Crystal program has the fiber that made it") {
  if (!is_target_built("workers_default")) return;
  LiveTarget target("workers_default");
  std::int64_t first = 0;
  std::int64_t second = 0;
  int asked = 0;
  const trace::Trace trace = trace_until(target, 1, [&] {
    first = target.ask("first=2000")["made"];
    second = target.ask("second=1000")["made"];
    asked += 2;
    return asked == 8;
  });
  CHECK(trace.header.complete);
  auto made = made_by_fibers(trace);
  CHECK(made.contains({"First", "first"}));
  CHECK(made.contains({"Second", "second"}));
  CHECK_FALSE(made.contains({"First", "second"}));
  CHECK_FALSE(made.contains({"Second", "first"}));
  CHECK_FALSE(made.contains({"First", "main"}));
  CHECK_FALSE(made.contains({"Asked", "first"}));
  if (trace.header.drops != 0) {
    return print_figure("samples were lost: exact counts were not compared");
  }
  CHECK(made[{"First", "first"}] == static_cast<double>(first));
  CHECK(made[{"Second", "second"}] == static_cast<double>(second));
  CHECK(made[{"Asked", "main"}] == asked);
}

}  // namespace heapattach
