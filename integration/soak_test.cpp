// Runs all reports in turn on services at full load, and kills a third of the runs at random.
// Nothing is lost, and nothing grows. The long form takes HEAPATTACH_SOAK_MINUTES, by default 20.

#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/process/process.h"
#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

// Figures of a process that must not grow.
struct Size {
  std::size_t files = 0;
  std::size_t mappings = 0;
  std::int64_t resident_kb = 0;
};

Size size_of(pid_t pid) {
  Size size;
  size.files = open_files(pid).size();
  const auto process = Process::open(pid);
  const auto map = process ? process->maps() : Result<MemoryMap>(MemoryMap());
  if (map) size.mappings = map->mappings().size();
  size.resident_kb = std::strtol(status_line(pid, "VmRSS").c_str(), nullptr, 10);
  return size;
}

const std::vector<Words> kOfAny{{"--stacks"}, {"--call", "getpid()"}, {"--stacks", "--no-rewind"}};
const std::vector<Words> kOfHeap{{"--count"},
                                 {"--count", "--snapshot", "clone"},
                                 {"--count", "--snapshot", "read"},
                                 {"--sizes"},
                                 {"--summary"},
                                 {"--strings"},
                                 {"--check"},
                                 {"--stacks"},
                                 {"--call", "getpid()"},
                                 {"--suspects"}};

// Whether a run was complete, partial, too late on a busy machine, or met a killed run that is
// still tracing.
bool is_good_end(int status) {
  const std::set<int> good{0, 6, 7, 9};
  return WIFEXITED(status) && good.contains(WEXITSTATUS(status));
}

class Soak {
 public:
  // Runs the next of these reports on that process.
  void run(pid_t pid, const std::vector<Words>& reports) {
    Words words = reports[turns_[pid]++ % reports.size()];
    const std::string shown = words[0] + " " + words.back();
    words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/null", tool_path()});
    words.insert(words.end(), {"-q", std::to_string(pid)});
    const bool is_killed = ++runs_ % 3 == 0;
    ChildProcess tool(words, {.capture_stderr = false});
    if (is_killed) {
      ::usleep(static_cast<useconds_t>(std::rand() % 200'000));
      tool.signal(SIGKILL);
      ++kills_;
    }
    const auto status = tool.wait_end(90s);
    REQUIRE_MESSAGE(status.has_value(), shown);
    CHECK_MESSAGE((is_killed || is_good_end(*status)), shown, ": ", *status);
    CHECK_MESSAGE(eventually(30s, [&] { return harm_done_to(pid).empty(); }), shown);
  }
  [[nodiscard]] int runs() const { return runs_; }
  [[nodiscard]] int kills() const { return kills_; }

 private:
  std::map<pid_t, std::size_t> turns_;
  int runs_ = 0;
  int kills_ = 0;
};

bool goes_on(int runs, Clock::time_point begin) {
  constexpr int kShort = 21;
  if (!is_long_run()) return runs < kShort;
  const char* const wanted = std::getenv("HEAPATTACH_SOAK_MINUTES");
  const long minutes = wanted == nullptr ? 20 : std::strtol(wanted, nullptr, 10);
  return Clock::now() - begin < std::chrono::minutes(minutes);
}

}  // namespace

TEST_CASE("services at full load lose nothing under every report in turn and random kills") {
  constexpr std::int64_t kNoise = 8192;  // kB
  LiveTarget pipeline("pipeline");
  std::optional<LiveTarget> heap;
  if (is_target_built("collecting")) heap.emplace("collecting", Words{"2"});
  Soak soak;
  soak.run(pipeline.pid(), kOfAny);  // does everything that is only done once
  const Size before = size_of(pipeline.pid());
  const auto begin = Clock::now();
  while (goes_on(soak.runs(), begin)) {
    soak.run(pipeline.pid(), kOfAny);
    if (heap) soak.run(heap->pid(), kOfHeap);
  }
  // A copy that a killed run has left behind ends by itself, and the next run reaps it.
  CHECK(eventually(30s, [&] {
    return run_tool({"--stacks", std::to_string(pipeline.pid())}).status == 0 &&
           children_of(pipeline.pid()).empty();
  }));
  const Size after = size_of(pipeline.pid());
  CHECK(after.files == before.files);
  CHECK(after.mappings <= before.mappings + 2);
  CHECK(after.resident_kb <= before.resident_kb + kNoise);
  if (heap) CHECK(heap->ask().at("bad") == 0);
  const Answer end = pipeline.ask("stop");
  print_figure(
      fmt::format("soak: {} runs, {} killed; {} items, lost {}, doubled {}, interrupted {}; "
                  "resident {} kB, then {} kB",
                  soak.runs(), soak.kills(), end.at("produced"), end.at("lost"), end.at("doubled"),
                  end.at("interrupted"), before.resident_kb, after.resident_kb));
  for (const char* count : {"lost", "doubled", "bad"}) CHECK_MESSAGE(end.at(count) == 0, count);
}

}  // namespace heapattach
