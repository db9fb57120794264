// `kubectl heapattach`: checks what the plugin asks of kubectl, and that it gets a report on a
// process in a pod. containers/kubectl imitates kubectl: its containers are namespaces.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/child_process.h"
#include "integration/control_group.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

constexpr int kObjects = 5000;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A pid namespace with one service in it, and the plugin next to heapattach.
struct Pod {
  Pod()
      : service({"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                 target_path("still"), std::to_string(kObjects)}) {
    REQUIRE(service.read_line(20s).value_or("").starts_with("ready"));
    std::ifstream(fmt::format("/proc/{0}/task/{0}/children", service.pid())) >> process;
    REQUIRE(process > 0);
    std::filesystem::create_directory(state);
  }

  // Runs the plugin with these arguments.
  [[nodiscard]] ToolRun run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {CONTAINERS, state, std::to_string(process)});
    return run_in_shell(
        "export PATH=\"$1:$PATH\" POD_STATE=$2 POD_PROCESS=$3; shift 3; "
        "kubectl-heapattach --context=test -n prod --binary \"$0\" \"$@\"",
        arguments);
  }
  [[nodiscard]] std::string calls() const { return read_text(state + "/calls"); }
  [[nodiscard]] bool has_refused() const { return std::filesystem::exists(state + "/refused"); }
  // Whether only the service is left in the pod, soon after the ephemeral container was ended.
  [[nodiscard]] bool is_left_alone() const {
    return eventually(20s, [this] {
      const ToolRun pids = run_in_shell("nsenter -t \"$1\" -p -m ls /proc | grep -c '^[0-9]'",
                                        {std::to_string(process)});
      return pids.output == "2\n";  // the service, and ls
    });
  }

  TemporaryDirectory directory;
  std::string state = directory.file("pod");
  ChildProcess service;
  pid_t process = 0;
};

#define NEEDS_NAMESPACES()                               \
  if (::geteuid() != 0) return print_skip("needs root"); \
  if (!is_target_built("still")) return print_skip("no libgc-dev");

}  // namespace

TEST_CASE("kubectl heapattach: a report on the process of a pod, and nothing stays behind") {
  NEEDS_NAMESPACES();
  const Pod pod;
  const ToolRun count = pod.run({"shop", "count", "-f", "json"});
  CAPTURE(count.errors);
  CHECK(count.status == 0);
  CHECK(has(count.output, fmt::format("\"objects\":{}", kObjects)));
  CHECK_FALSE(pod.has_refused());
  CHECK(has(pod.calls(), "'--image=busybox:stable'"));
  CHECK(pod.is_left_alone());
  CHECK(harm_done_to(pod.process) == "");
}

TEST_CASE("kubectl heapattach: a snapshot is saved here, whole, for its owner alone") {
  NEEDS_NAMESPACES();
  const Pod pod;
  const std::string file = pod.directory.file("heap.jsonl.gz");
  const ToolRun saved = pod.run({"-c", "app", "-o", file, "pod/shop", "snapshot"});
  CAPTURE(saved.errors);
  CHECK(saved.status == 0);
  struct ::stat status {};
  CHECK(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  const ToolRun count = run_tool({"-q", "count", "-f", "json", file});
  CHECK(has(count.output, fmt::format("\"objects\":{}", kObjects)));
  CHECK(pod.directory.list() == std::vector<std::string>{"heap.jsonl.gz", "pod"});
  // An existing file stays as it is, unless --force is given.
  write_text(file, "precious");
  CHECK(pod.run({"-o", file, "shop", "snapshot"}).status == 2);
  CHECK(read_text(file) == "precious");
  CHECK(pod.run({"--force", "-o", file, "shop", "snapshot"}).status == 0);
  CHECK(read_text(file) != "precious");
  CHECK(pod.is_left_alone());
}

TEST_CASE("kubectl heapattach: of a shared process namespace, the container that was named") {
  NEEDS_NAMESPACES();
  const ControlGroup group(unified_hierarchy(), "cgroup.procs");
  if (!group.exists()) return print_skip("no control group can be made");
  const std::string id = "3f9a1c20b7e4" + std::string(52, '0');
  const std::filesystem::path container = group.path() / ("cri-containerd-" + id + ".scope");
  {
    const Pod pod;
    const std::string larger_path = pod.directory.file("a\033[2Jb");  // a hostile process name
    REQUIRE(::symlink(target_path("still").c_str(), larger_path.c_str()) == 0);
    ChildProcess larger({"/usr/bin/nsenter", "--target", std::to_string(pod.process), "--pid",
                         "--mount", larger_path, "50000"});
    REQUIRE(larger.read_line(20s).value_or("").starts_with("ready"));
    const ToolRun any = pod.run({"shop", "count", "-f", "json"});
    CHECK(has(any.output, "\"objects\":50000"));
    CHECK(has(any.errors, "the largest of 2 processes of all visible containers"));
    CHECK(has(any.errors, " is a[2Jb, "));

    REQUIRE(std::filesystem::create_directory(container));
    std::ofstream(container / "cgroup.procs") << pod.process << std::flush;
    write_text(pod.state + "/id", "containerd://" + id);
    const ToolRun named = pod.run({"-c", "app", "shop", "count", "-f", "json"});
    CAPTURE(named.errors);
    CHECK(has(named.output, fmt::format("\"objects\":{}", kObjects)));
    CHECK_FALSE(has(named.errors, "the largest"));
    // No process has this container id, as if control groups did not show it.
    write_text(pod.state + "/id", "containerd://" + std::string(64, 'e'));
    CHECK(has(pod.run({"shop", "count", "-f", "json"}).errors, "of all visible containers"));
    CHECK_FALSE(pod.has_refused());
    std::ofstream(group.path().parent_path() / "cgroup.procs") << pod.process << std::flush;
  }
  CHECK(std::filesystem::remove(container));
}

TEST_CASE("kubectl heapattach: what fails is said, with heapattach's own status") {
  NEEDS_NAMESPACES();
  const Pod pod;
  const std::string file = pod.directory.file("none.jsonl");
  const ToolRun gone = pod.run({"--pid", "999", "-o", file, "shop", "snapshot"});
  CHECK(gone.status == 3);
  CHECK(has(gone.errors, "999"));
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(pod.is_left_alone());

  CHECK(pod.run({"--pid", "one", "shop"}).status == 2);
  CHECK(pod.run({"shop", "snapshot", "-o", file}).status == 2);
  CHECK(pod.run({"--fail", "shop"}).status == 2);
  CHECK(pod.run({}).status == 2);
  CHECK(pod.run({"cart"}).status == 1);  // no such pod

  write_text(pod.state + "/broken", "ImagePullBackOff");
  const ToolRun broken = pod.run({"--image", "nowhere/heapattach", "shop"});
  CHECK(broken.status == 1);
  CHECK(has(broken.errors, "did not start: ImagePullBackOff (image nowhere/heapattach)"));
}

}  // namespace heapattach
