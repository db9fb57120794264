// HAZARDS E1, E12, E13: files that are cheap to make and expensive to read. Whatever files a target
// maps or a user names, a run stays within its limits of memory and time, the target keeps running,
// and the report mentions what was left out.

#include "integration/bombs.h"

#include <algorithm>
#include <functional>
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
constexpr double kMostLate = 1000;  // milliseconds
constexpr double kTimeout = 10'000;
constexpr std::int64_t kObjects = 2000;

// The largest figures of all runs in this file.
struct Worst {
  std::uint64_t bytes = 0;
  double late = 0;
  int runs = 0;
};

void check(const MeasuredRun& run, const std::string& what, Worst& worst) {
  CAPTURE(what);
  CAPTURE(run.run.errors);
  const double late = std::max(0.0, run.milliseconds - kTimeout);
  CHECK(run.peak_bytes <= kCeiling);
  CHECK(late <= kMostLate);
  worst = {std::max(worst.bytes, run.peak_bytes), std::max(worst.late, late), worst.runs + 1};
  print_figure(fmt::format("{}: {:.1f} s, {} MiB, status {}", what, run.milliseconds / 1000,
                           run.peak_bytes >> 20U, run.run.status));
}

void print(const Worst& worst) {
  print_figure(fmt::format("bombs: {} runs, largest memory {} MiB, longest overrun {:.2f} s",
                           worst.runs, worst.bytes >> 20U, worst.late / 1000));
}

bool says(const MeasuredRun& run, std::string_view text) {
  return run.run.errors.find(text) != std::string::npos;
}

// Whether the report shows all links of the list, whatever else it lacks.
bool has_all_links(const MeasuredRun& run) {
  return run.run.output.find(fmt::format("{}\t", kObjects)) != std::string::npos;
}

struct Bomb {
  std::string what;
  int files = 1;
  std::function<void(const std::string& path)> write;
  std::string warning;  // the warning that every user must see; empty: none
};

std::vector<Bomb> bombs() {
  const auto types = static_cast<std::uint32_t>(rounds(320'000, 1'000'000));
  const auto names = static_cast<std::uint32_t>(rounds(20'000, 200'000));
  return {
      {"names in holes", rounds(2, 8), write_sparse_names, ""},
      {"one long name shared by all symbols", rounds(2, 8), write_shared_names, ""},
      {"types with long names", rounds(2, 8),
       [names](const std::string& path) { write_long_type_names(path, names); }, ""},
      {"more types than are read", rounds(1, 3),
       [types](const std::string& path) { write_many_types(path, types); }, "warning: "},
  };
}

}  // namespace

TEST_CASE("what a hostile target maps costs little memory and no more than the time allowed") {
  if (!is_target_built("still")) return;
  Worst worst;
  int complete = 0;
  for (const Bomb& bomb : bombs()) {
    CAPTURE(bomb.what);
    const TemporaryDirectory directory;
    std::vector<std::string> arguments = {std::to_string(kObjects), "--map"};
    for (int i = 0; i < bomb.files; ++i) {
      arguments.push_back(directory.file(fmt::format("bomb{}.so", i)));
      bomb.write(arguments.back());
    }
    LiveTarget target("still", arguments);
    REQUIRE(target.greeting().at("mapped") == bomb.files);
    const MeasuredRun run =
        run_measured({"--count", "-f", "tsv", "--timeout", "10", std::to_string(target.pid())});
    check(run, bomb.what, worst);
    CHECK(harm_done_to(target.pid()) == "");
    if (run.run.status != 0) continue;
    ++complete;
    CHECK_MESSAGE(has_all_links(run), run.run.output);
    if (!bomb.warning.empty()) CHECK(says(run, bomb.warning));
  }
  CHECK(complete > 0);
  print(worst);
}

TEST_CASE("every user is warned of types that were left out") {
  if (!is_target_built("still")) return;
  const TemporaryDirectory directory;
  const std::string library = directory.file("many.so");
  write_many_types(library, 320'000);
  LiveTarget target("still", {std::to_string(kObjects), "--map", library});
  const ToolRun run = run_tool({"--count", std::to_string(target.pid())});
  CHECK(run.status == 0);
  CHECK_MESSAGE(run.errors.find("warning: " + library + ": not all of its types were read") !=
                    std::string::npos,
                run.errors);
}

TEST_CASE("a snapshot that unpacks without end is refused before it takes memory") {
  Worst worst;
  const TemporaryDirectory directory;
  const std::string packed = directory.file("heap.jsonl.gz");
  write_packed_blanks(packed, static_cast<std::uint64_t>(rounds(256, 4096)) << 20U);
  for (const std::string report : {"--count", "--sizes"}) {
    const MeasuredRun run = run_measured({report, "--timeout", "10", packed});
    check(run, "a packed snapshot of blanks, " + report, worst);
    CHECK(run.run.status == 1);
    CHECK(says(run, "unpacks to more than"));
  }
  print(worst);
}

}  // namespace heapattach
