// Programs whose files are not where they seem to be: they are in a root of their own, were
// deleted, or were replaced by another build, a link out of the root, or a pipe. Names are right,
// or the report says why there are none. Nothing waits for a pipe.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "integration/child_process.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;
namespace files = std::filesystem;

namespace {

constexpr const char* kProgram = "typed_c_gcc5";
constexpr uid_t kNobody = 65534;

// Makes a root with the program as /app/service, and its libraries next to it.
constexpr const char* kEnter =
    "mount -t tmpfs none \"$0\" && cd \"$0\" && mkdir -p usr proc old app real && "
    "mount --rbind /usr usr && ln -s usr/lib lib && ln -s usr/lib64 lib64 && cp \"$1\"/* app && "
    "mount -t proc proc proc && pivot_root . old && cd / && umount -l old && "
    "LD_LIBRARY_PATH=/app exec /app/service";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The path of a system library.
std::string library(const std::string& name) {
  return run_in_shell("ldd \"$1\" | sed -n \"s/.*$2.* => \\([^ ]*\\) .*/\\1/p\"",
                      {target_path(kProgram), name})
      .output;
}

void copy(std::string from, const std::string& to) {
  if (from.ends_with('\n')) from.pop_back();
  files::copy_file(from, to, files::copy_options::overwrite_existing);
  ::chmod(to.c_str(), 0755);
}

// Makes a file look like another build of itself.
void change_build_id(const std::string& file) {
  const std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  const std::string bytes = read_text(file);
  const std::size_t at = bytes.find(note);
  REQUIRE(at != std::string::npos);
  std::fstream patched(file, std::ios::in | std::ios::out | std::ios::binary);
  patched.seekp(static_cast<std::streamoff>(at + note.size()));
  patched.put(static_cast<char>(bytes[at + note.size()] ^ 1));
}

// The program and its libraries, copied to a directory and run from there.
struct Installed {
  Installed() {
    files::create_directory(app);
    copy(target_path(kProgram), app + "/service");
    copy(library("libgc"), app + "/libgc.so.1");
    copy(library("libc.so"), app + "/libc.so.6");
  }

  TemporaryDirectory directory;
  std::string app = directory.file("app");
};

struct Boxed {
  explicit Boxed(uid_t uid) : who{.uid = uid, .capture_stderr = true} {
    const std::string root = installed.directory.file("root");
    files::create_directory(root);
    child.emplace(std::vector<std::string>{"/usr/bin/unshare", "--user", "--map-root-user",
                                           "--mount", "--pid", "--fork", "--kill-child", "bash",
                                           "-c", kEnter, root, installed.app},
                  who);
    if (child->read_line(20s).value_or("") != "ready") {
      print_skip("user namespaces do not work here: " + child->read_errors(1s));
      return;
    }
    const auto list = fmt::format("/proc/{0}/task/{0}/children", child->pid());
    std::ifstream(list) >> pid;
    REQUIRE(pid > 0);
    app = fmt::format("/proc/{}/root/app", pid);
  }

  [[nodiscard]] ToolRun look(std::vector<std::string> arguments) const {
    arguments.push_back(fmt::format("{}", pid));
    return run_tool(arguments, who);
  }
  // Runs a hostile script in the container.
  void change(const std::string& script) const {
    const ToolRun run = run_in_shell("cd \"$1\" && " + script, {app}, who);
    REQUIRE_MESSAGE(run.status == 0, run.errors);
  }

  Installed installed;
  ChildOptions who;
  std::optional<ChildProcess> child;
  pid_t pid = 0;  // 0: it could not be started
  std::string app;
};

bool has_all_names(const ToolRun& stacks) {
  return stacks.status == 0 && contains(stacks.output, "fgets ") &&
         contains(stacks.output, " wait_below ") && contains(stacks.output, "typed_c.c:") &&
         !contains(stacks.output, "warning");
}

bool has_all_types(const ToolRun& count) {
  return count.status == 0 && contains(count.output, "struct session") && count.errors.empty();
}

}  // namespace

TEST_CASE("a program in a container is read like any other, by root and by its own user") {
  if (!is_target_built(kProgram)) return;
  for (const uid_t uid : {uid_t{0}, kNobody}) {
    CAPTURE(uid);
    const Boxed boxed(uid);
    if (boxed.pid == 0) return;
    const ToolRun stacks = boxed.look({"--stacks"});
    CHECK_MESSAGE(has_all_names(stacks), stacks.output, stacks.errors);
    CHECK(contains(stacks.output, "thread 1 in its own pid namespace\n"));
    const ToolRun count = boxed.look({"-q", "--count"});
    CHECK_MESSAGE(has_all_types(count), count.output, count.errors);
    CHECK(harm_done_to(boxed.pid) == "");
  }
}

TEST_CASE("a library's path in a container is never followed out of its root") {
  if (!is_target_built(kProgram)) return;
  const Boxed boxed(kNobody);
  if (boxed.pid == 0) return;
  boxed.change("cp libc.so.6 ../real && rm libc.so.6 && ln -s /real/libc.so.6 libc.so.6");
  const ToolRun linked = boxed.look({"--stacks"});
  CHECK_MESSAGE(has_all_names(linked), linked.output, linked.errors);
  // The link leads out of the container, to a file that is not the program's C library.
  boxed.change("ln -sf ../../../../../../proc/1/root/../etc/passwd libc.so.6");
  boxed.change("rm libgc.so.1 && mkfifo libgc.so.1 && rm service && mkfifo service");
  const ToolRun stacks = boxed.look({"--stacks"});
  CAPTURE(stacks.output);
  CHECK(stacks.status == 0);
  CHECK(contains(stacks.output, "warning: /app/libc.so.6: no symbols: "));
  CHECK_FALSE(contains(stacks.output, "fgets "));
  const ToolRun count = boxed.look({"--count"});
  CAPTURE(count.errors);
  CHECK(contains(count.errors, "warning: /app/libgc.so.1: no symbols: /app/libgc.so.1 is not a "));
  CHECK(harm_done_to(boxed.pid) == "");
}

TEST_CASE("a library of another build than the one in memory is named and not used") {
  if (!is_target_built(kProgram)) return;
  const Boxed boxed(kNobody);
  if (boxed.pid == 0) return;
  const std::string other = boxed.installed.directory.file("other.so");
  copy(library("libc.so"), other);
  change_build_id(other);
  boxed.change("rm libc.so.6 service && cp " + other + " libc.so.6 && cp libc.so.6 service");
  const ToolRun stacks = boxed.look({"--stacks"});
  CAPTURE(stacks.output);
  CHECK(stacks.status == 0);
  CHECK(contains(stacks.output, "warning: /app/libc.so.6: no symbols: the file has build id "));
  CHECK_FALSE(contains(stacks.output, "fgets "));
  CHECK(contains(stacks.output, "  libc.so.6+0x"));
  CHECK_FALSE(contains(stacks.output, "  libc.so.6+0x7f"));  // an offset, not an address
  const ToolRun count = boxed.look({"--count"});
  CAPTURE(count.errors);
  CHECK(count.status == 0);
  CHECK(contains(count.output, "struct node"));  // /proc/PID/exe is still the program
  CHECK(contains(count.errors, "warning: /app/libc.so.6: no symbols: the file has build id "));
}

TEST_CASE("a program and libraries that were deleted, and then replaced, keep their names") {
  if (!is_target_built(kProgram)) return;
  if (::geteuid() != 0) {
    print_skip("deleted libraries are reached by root alone");
    return;
  }
  const Installed installed;
  ChildProcess child(
      {"/usr/bin/env", "LD_LIBRARY_PATH=" + installed.app, installed.app + "/service"});
  REQUIRE(child.read_line(20s).value_or("") == "ready");
  const std::string pid = fmt::format("{}", child.pid());
  const auto look = [&] {
    const ToolRun stacks = run_tool({"--stacks", pid});
    CHECK_MESSAGE(has_all_names(stacks), stacks.output, stacks.errors);
    CHECK(contains(stacks.output, "/app/service (deleted): "));
    const ToolRun count = run_tool({"-q", "--count", pid});
    CHECK_MESSAGE(has_all_types(count), count.output, count.errors);
  };
  for (const char* name : {"service", "libgc.so.1", "libc.so.6"}) {
    files::remove(installed.app + "/" + name);
  }
  look();
  for (const char* name : {"service", "libgc.so.1", "libc.so.6"}) {
    copy(library("libc.so"), installed.app + "/" + name);
    change_build_id(installed.app + "/" + name);
  }
  look();
  CHECK(harm_done_to(child.pid()) == "");
}

}  // namespace heapattach
