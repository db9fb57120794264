// HAZARDS E15: processes that share a program's descriptor table are not stopped with the program.
// They can replace a trace's memory in it with another file.

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/taken_file.h"
#include "integration/passing_control.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

// Waits until the other process has replaced the memory that the program has just made.
class Replaced final : public PassingControl {
 public:
  Replaced(RemoteControl& real, pid_t pid, std::string path)
      : PassingControl(real), pid_(pid), path_(std::move(path)) {}
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override {
    auto stop = PassingControl::wait(tid, deadline);
    if (has_been_there || (open_files(pid_, trace::kRingName) == 0 && !is_replaced())) return stop;
    has_been_there = true;
    CHECK(eventually(10s, [&] { return is_replaced(); }));
    return stop;
  }

  bool has_been_there = false;

 private:
  // The other process has the file open, too.
  [[nodiscard]] bool is_replaced() const { return open_files(pid_, path_) == 2; }

  pid_t pid_;
  std::string path_;
};

struct Unchanged {
  explicit Unchanged(std::string file) : path(std::move(file)) {
    write_text(path, kText);
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    REQUIRE(stat(path.c_str(), &before) == 0);
  }
  void check() const {
    struct stat after {};
    REQUIRE(stat(path.c_str(), &after) == 0);
    CHECK(after.st_size == before.st_size);
    CHECK(after.st_blocks == before.st_blocks);
    CHECK(after.st_mtim.tv_sec == before.st_mtim.tv_sec);
    CHECK(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    CHECK(read_text(path) == kText);
  }

  static constexpr const char* kText = "not to be changed\n";
  std::string path;
  struct stat before {};
};

}  // namespace

TEST_CASE("a file that replaces a trace's memory in a shared descriptor table is not written to") {
  if (!is_target_built(kAllocating)) return;
  const TemporaryDirectory directory;
  const Unchanged file(directory.file("secret"));
  LiveTarget target(kAllocating, {"1", "free", "swap=" + file.path});
  HookedTarget tracer(target.pid());
  Replaced control(*tracer.control, target.pid(), file.path);
  const auto installed =
      trace::Installation::make(*tracer.opened.process, control, tracer.hooks, {});
  REQUIRE(control.has_been_there);
  REQUIRE(!installed);
  INFO(installed.error().message());
  CHECK(installed.error().kind == ErrorKind::Impossible);
  CHECK(installed.error().message().find("its descriptor table") != std::string::npos);
  file.check();
  CHECK(is_working(target));
}

TEST_CASE("a constantly changing descriptor table at worst makes a trace fail with the reason") {
  if (!is_target_built(kAllocating)) return;
  const TemporaryDirectory directory;
  const Unchanged file(directory.file("secret"));
  LiveTarget target(kAllocating, {"1", "free", "swap=" + file.path});
  HookedTarget tracer(target.pid());
  for (int i = 0; i < rounds(5, 300); ++i) {
    const auto installed = tracer.install();
    file.check();
    if (installed) {
      CHECK((*installed)->leave());
      continue;
    }
    INFO(installed.error().message());
    CHECK(installed.error().kind == ErrorKind::Impossible);
  }
  CHECK(is_working(target));
  CHECK(traces_of(target.pid()).mappings.find("heapattach") == std::string::npos);
}

TEST_CASE("a program cannot shorten the memory of its trace, and is traced") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"1", "free", "shorten"});
  REQUIRE(is_working(target));
  const ToolRun run = run_tool({"-q", "trace", "--for", "300ms", "--no-mark", "-f", "json",
                                fmt::format("{}", target.pid())});
  INFO(run.errors);
  CHECK((run.status == 0 || run.status == 7));
  CHECK(run.output.find("\"rows\"") != std::string::npos);
  Answer after = target.ask();
  CHECK(after["refused"] > 0);
  CHECK(after["shortened"] == 0);
  CHECK(is_working(target));
}

}  // namespace heapattach
