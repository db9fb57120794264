// A process has thousands of modules, each with debug information. Every report finishes in time,
// and says what it has left out.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/measured_run.h"
#include "integration/rounds.h"

namespace heapattach {

TEST_CASE("every report on a process with very many modules finishes in time") {
  if (!is_target_built("many_modules") || !is_target_built("rooted_library")) return;
  const TemporaryDirectory directory;
  const int modules = rounds(500, 2000);
  LiveTarget target("many_modules",
                    {target_path("rooted_library"), directory.path(), std::to_string(modules)});
  REQUIRE(target.greeting().at("loaded") == modules);
  std::vector<std::vector<std::string>> reports{{"--count"}};
  if (is_long_run()) {
    reports = {{"--count"},     {"--sizes"},  {"--count", "--heap", "both"},
               {"--summary"},   {"--stacks"}, {"--count", "--snapshot", "clone"},
               {"--why", "0x1"}};
  }
  const std::string time = std::to_string(rounds(8, 20));
  for (std::vector<std::string> report : reports) {
    CAPTURE(report);
    const std::string what = fmt::format("{}", fmt::join(report, " "));
    report.insert(report.end(), {"--timeout", time, std::to_string(target.pid())});
    const MeasuredRun run = run_measured(report);
    const bool is_report = run.run.status == 0 || run.run.status == 7;
    CHECK_MESSAGE(is_report, run.run.status, run.run.errors);
    CHECK(run.peak_bytes < std::uint64_t{512} << 20U);
    CHECK(harm_done_to(target.pid()) == "");
    print_figure(fmt::format("{} modules, {}: {:.1f} s, {} MiB", modules, what,
                             run.milliseconds / 1000, run.peak_bytes >> 20U));
  }
}

}  // namespace heapattach
