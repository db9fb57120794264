// HAZARDS E1, E10: types are read by a worker without rights, and only from files that belong to
// the target and are below its root. The rest of the report stays right.

#include <filesystem>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;
namespace files = std::filesystem;

namespace {

constexpr uid_t kUser = 1000;
constexpr const char* kStripped = "typed_c_gcc5_stripped";
constexpr const char* kDebugName = "target_typed_c_gcc5_stripped.debug";
constexpr const char* kDebugOfAnother = "target_typed_cxx_gcc5_stripped.debug";
constexpr const char* kNoFilter = "no system call filter could be installed";

files::path debug_file(const std::string& name) {
  return files::path(target_path(kStripped)).parent_path() / ".debug" / name;
}

bool says(const ToolRun& run, const std::string& text) {
  return run.errors.find(text) != std::string::npos;
}

// A stripped program whose debug file is at the path that the test chooses.
struct MovedProgram {
  explicit MovedProgram(const std::string& path) {
    files::copy_file(target_path(kStripped), path);
    child.emplace(std::vector<std::string>{path});
    REQUIRE(child->read_line(20s) == "ready");
  }
  [[nodiscard]] ToolRun count(std::vector<std::string> options) const {
    options.insert(options.end(), {"--count", "-v", std::to_string(child->pid())});
    return run_tool(options);
  }

  std::optional<ChildProcess> child;
};

// The last lines of a table: the part of a count that does not depend on types.
std::string totals_of(const ToolRun& run) {
  const std::size_t at = run.output.find("  live\n");
  REQUIRE(at != std::string::npos);
  return run.output.substr(run.output.rfind('\n', at) + 1);
}

}  // namespace

TEST_CASE("types are read where no system call filter can be set, with a note") {
  if (!is_target_built(kStripped)) return;
  LiveTarget target(kStripped);
  const ToolRun run = run_in_shell(fmt::format("exec {} {} {} -- \"$0\" --count -v \"$@\"",
                                               target_path("filtered"), SYS_seccomp, SYS_prctl),
                                   {std::to_string(target.pid())});
  CHECK(run.status == 0);
  CHECK_MESSAGE(says(run, kNoFilter), run.errors);
  CHECK_MESSAGE(run.output.find("struct ") != std::string::npos, run.output);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("an ordinary user reads types in the sandbox too") {
  if (!is_target_built(kStripped)) return;
  if (::geteuid() != 0) return print_skip("needs root, to become another user");
  LiveTarget target(kStripped, {}, {.uid = kUser, .capture_stderr = false});
  const ToolRun run = run_tool({"--count", "-v", std::to_string(target.pid())}, {.uid = kUser});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK_MESSAGE(run.output.find("struct ") != std::string::npos, run.errors);
}

TEST_CASE("the debug file of another program is named and not used") {
  if (!is_target_built(kStripped) || !files::exists(debug_file(kDebugOfAnother))) return;
  const TemporaryDirectory directory;
  const MovedProgram program(directory.file("program"));
  files::create_directory(directory.file(".debug"));
  files::copy_file(debug_file(kDebugOfAnother),
                   directory.file(std::string(".debug/") + kDebugName));
  const ToolRun without = program.count({});
  CHECK(without.status == 0);
  CHECK_MESSAGE(says(without, "not used: its build id is"), without.errors);
  CHECK(without.output.find("struct ") == std::string::npos);
  const ToolRun with = program.count({"--debug-dir", debug_file("").parent_path().string()});
  CHECK(with.status == 0);
  CHECK(with.output.find("struct ") != std::string::npos);
  CHECK(totals_of(with) == totals_of(without));
  CHECK(harm_done_to(program.child->pid()) == "");
}

TEST_CASE("a link in the target's root does not lead out of it") {
  if (!is_target_built(kStripped)) return;
  const TemporaryDirectory directory;
  const std::string root = directory.file("root");
  files::create_directory(root);
  const MovedProgram program(directory.file("program"));
  const ToolRun copied = run_in_shell(
      "cp --parents $(sed -n 's|.* /|/|p' /proc/$1/maps | sort -u) \"$2\" && mkdir -p "
      "\"$2/usr/lib\"",
      {std::to_string(program.child->pid()), root});
  REQUIRE_MESSAGE(copied.status == 0, copied.errors);
  // The destination of /usr/lib/debug, which is a different directory in the target's root.
  const std::string place = directory.file("planted");
  const auto plant = [&](const std::string& below) {
    const files::path to = below + directory.path();
    files::create_directories(to);
    files::copy_file(debug_file(kDebugName), to / kDebugName);
  };
  const std::string link = root + "/usr/lib/debug";
  SUBCASE("as an absolute path") {
    files::create_directory_symlink(place, link);
  }
  SUBCASE("as a relative path") {
    files::create_directory_symlink("../../../planted", link);
  }
  plant(place);
  const ToolRun outside = program.count({"--sysroot", root});
  CHECK_MESSAGE(outside.status == 0, outside.errors);
  CHECK_MESSAGE(!says(outside, "symbols from /usr/lib/debug" + directory.path()), outside.errors);
  CHECK(outside.output.find("struct ") == std::string::npos);
  plant(root +
        (files::is_symlink(link) && files::read_symlink(link).is_absolute() ? place : "/planted"));
  const ToolRun inside = program.count({"--sysroot", root});
  CHECK_MESSAGE(says(inside, "symbols from /usr/lib/debug" + directory.path()), inside.errors);
  CHECK(inside.output.find("struct ") != std::string::npos);
  CHECK(totals_of(inside) == totals_of(outside));
}

}  // namespace heapattach
