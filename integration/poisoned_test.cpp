// HAZARDS E3, E13: processes falsify the data of their own collector or malloc, as a hostile
// process would before an administrator looks at it. Every report ends in time, takes little
// memory, names the data that does not fit, and leaves the process as it was.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/measured_run.h"
#include "integration/rounds.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kCeiling = std::uint64_t{512} << 20U;
constexpr double kTimeout = 20'000;  // milliseconds
constexpr double kMostLate = 1000;

struct Falsified {
  std::string target;
  std::vector<std::string> how;
  std::vector<std::string> report;
};

// The largest figures of all runs in a test.
struct Worst {
  std::uint64_t bytes = 0;
  double milliseconds = 0;
  int runs = 0;
};

// Whether the outcome is a complete or partial report, or an error that names the data that does
// not fit.
bool is_named_outcome(const ToolRun& run) {
  switch (run.status) {
    case 0: return true;
    case 1:
    case 5:
    case 6: return run.errors.find("heapattach: ") != std::string::npos;
    case 7: return run.errors.find("partial") != std::string::npos;
    default: return false;
  }
}

MeasuredRun look_at(const Falsified& one, Worst& worst) {
  CAPTURE(one.target);
  CAPTURE(one.how);
  CAPTURE(one.report);
  LiveTarget target(one.target, one.how);
  CHECK(target.greeting().at("done") == 1);
  std::vector<std::string> arguments = one.report;
  arguments.insert(arguments.end(), {"--timeout", "20", std::to_string(target.pid())});
  MeasuredRun run = run_measured(arguments);
  CHECK_MESSAGE(is_named_outcome(run.run), run.run.status, ": ", run.run.errors);
  CHECK(run.peak_bytes <= kCeiling);
  CHECK(run.milliseconds <= kTimeout + kMostLate);
  CHECK(harm_done_to(target.pid()) == "");
  worst = {std::max(worst.bytes, run.peak_bytes), std::max(worst.milliseconds, run.milliseconds),
           worst.runs + 1};
  return run;
}

void print(const char* what, const Worst& worst) {
  print_figure(fmt::format("{}: {} runs, largest memory {} MiB, longest {:.1f} s", what, worst.runs,
                           worst.bytes >> 20U, worst.milliseconds / 1000));
}

bool says(const MeasuredRun& run, std::string_view words) {
  return run.run.errors.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a collector's falsified data costs us neither memory nor time") {
  if (!is_target_built("poisoned")) return;
  Worst worst;
  for (const char* how : {"a terabyte", "64 terabytes"}) {
    const std::vector<std::string> arguments{how};
    const MeasuredRun plain = look_at({"poisoned", arguments, {"--count"}}, worst);
    CHECK(says(plain, "the blocks would exceed 256 GiB"));
    CHECK(plain.run.output.find("  5000  ") != std::string::npos);  // the true objects
    look_at({"poisoned", arguments, {"--count", "--snapshot", "clone"}}, worst);
    look_at({"poisoned", arguments, {"--stacks"}}, worst);
  }
  for (const char* how :
       {"sizes", "no size", "another name", "one header", "chain in a circle", "one index",
        "no blocks begin", "free lists in a circle", "overlapping indices", "many of one header"}) {
    look_at({"poisoned", {how}, {"--sizes"}}, worst);
  }
  print("falsified collectors", worst);
}

TEST_CASE("malloc's falsified data costs us neither memory nor time") {
  Worst worst;
  const MeasuredRun circle =
      look_at({"poisoned_malloc", {"heaps in a circle"}, {"--count"}}, worst);
  CHECK(circle.run.status == 7);
  for (const char* how :
       {"size", "no size", "arena of 2^60 bytes", "arenas in a circle", "overlapping heaps",
        "many arenas", "64 terabytes", "mapped chunks", "chains in pages", "bins in a circle"}) {
    look_at({"poisoned_malloc", {how}, {"--count"}}, worst);
  }
  look_at({"poisoned_malloc", {"overlapping heaps"}, {"leaks"}}, worst);
  print("falsified mallocs", worst);
}

TEST_CASE("words of the collector's and of malloc's data may be anything") {
  const std::vector<std::vector<std::string>> reports{
      {"--count"}, {"--sizes"}, {"--count", "--snapshot", "clone"}, {"--summary"}, {"--stacks"}};
  Worst worst;
  for (int seed = 1; seed <= rounds(5, 500); ++seed) {
    const auto& report = reports[static_cast<std::size_t>(seed) % reports.size()];
    const std::vector<std::string> how{"scattered", std::to_string(seed)};
    if (is_target_built("poisoned")) look_at({"poisoned", how, report}, worst);
    look_at({"poisoned_malloc", how, report}, worst);
  }
  print("scattered words", worst);
}

}  // namespace heapattach
