// User errors and failing environments: each ends with its status and one clear message, and
// nothing is overwritten.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Whether the errors are one line that begins with heapattach's name, has text, and contains no
// control characters.
bool is_one_clear_message(const std::string& errors) {
  const std::size_t end = errors.find('\n');
  return errors.starts_with("heapattach: ") && errors.size() > 20 && end + 1 == errors.size() &&
         std::none_of(errors.begin(), errors.end(), [](char letter) {
           return static_cast<unsigned char>(letter) < 0x20 && letter != '\n';
         });
}

// Checks that `run` has failed with this status, without output.
void check_refused(const ToolRun& run, int status, const std::string& word) {
  CAPTURE(run.errors);
  CHECK(run.status == status);
  CHECK(is_one_clear_message(run.errors));
  CHECK(contains(run.errors, word));
  CHECK(run.output.empty());
}

std::string text_of(pid_t pid) {
  return fmt::format("{}", pid);
}

// A pid that was in use a moment ago, but no longer is.
pid_t pid_of_nobody() {
  ChildProcess gone({"/bin/true"});
  gone.wait_end(seconds(10));
  return gone.pid();
}

// A kernel thread, if any is visible here.
std::optional<pid_t> find_kernel_thread() {
  constexpr unsigned long kIsKernelThread = 0x00200000;  // PF_KTHREAD, field 9 of stat
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = read_text(entry.path() / "stat");
    const std::size_t name_end = stat.rfind(") ");
    if (name_end == std::string::npos) continue;
    unsigned long flags = 0;
    if (std::sscanf(stat.c_str() + name_end + 2, "%*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
        (flags & kIsKernelThread) != 0) {
      return static_cast<pid_t>(std::stol(name));
    }
  }
  return std::nullopt;
}

bool can_unshare() {
  return run_in_shell("unshare --pid --fork --mount --mount-proc true", {}).status == 0;
}

}  // namespace

TEST_CASE("an unused pid is refused") {
  const std::string pid = text_of(pid_of_nobody());
  check_refused(run_tool({"--count", pid}), 3, pid);
  check_refused(run_tool({pid}), 3, pid);
}

TEST_CASE("arguments that make no sense are refused as usage errors") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--no-such-option", "1"},
                                             {"--count", "0"},
                                             {"--count", "99999999999999999999"},
                                             {"--count", "--pid", "12ab"},
                                             {"--count", "-f", "no-such-format", "1"},
                                             {"--count", "--top", "many", "1"},
                                             {"--count", "--timeout", "-1", "1"},
                                             {"--count", "--fail-if", "count(", "1"}}) {
    CAPTURE(fmt::format("{}", fmt::join(arguments, " ")));
    const ToolRun run = run_tool(arguments);
    CHECK(run.status == 2);
    CHECK(run.errors.starts_with("heapattach: "));
    CHECK(run.output.empty());
  }
}

TEST_CASE("an argument that is neither a number nor an existing file is refused by name") {
  for (const char* source : {"-5", "12ab"}) {
    check_refused(run_tool({"--count", source}), 2, source);
  }
}

TEST_CASE("a file that cannot be read, or is of another kind, is refused with one status") {
  for (const char* file :
       {"/no/such/file.jsonl", "/etc/passwd", "/bin/true", "/etc", "/dev/null"}) {
    CAPTURE(file);
    for (const char* report : {"count", "stacks", "trace", "suspects", "snapshot"}) {
      CAPTURE(report);
      check_refused(run_tool({report, file}), 1, file);
    }
    check_refused(run_tool({"diff", file, file}), 1, file);
  }
}

TEST_CASE("a limit of so few open files that some would seem to be missing is refused") {
  check_refused(run_in_shell("ulimit -n 30; \"$0\" --count $PPID", {}), 1, "limit of open files");
}

TEST_CASE("heapattach does not attach to itself") {
  // exec does not change the shell's pid, so heapattach gets its own pid.
  check_refused(run_in_shell("exec \"$0\" --count $$", {}), 5, "itself");
}

TEST_CASE("the first process of a system is read like any other") {
  if (!can_unshare()) {
    print_skip("no rights to make a pid namespace");
    return;
  }
  const ToolRun run = run_in_shell(
      "unshare --pid --fork --mount --mount-proc bash -c '\"$0\" --count --heap gc 1; exit $?' "
      "\"$0\"",
      {});
  check_refused(run, 5, "GC_size");
}

TEST_CASE("a thread of the kernel is refused") {
  const std::optional<pid_t> pid = find_kernel_thread();
  if (!pid) {
    print_skip("no kernel thread is visible");
    return;
  }
  check_refused(run_tool({"--count", text_of(*pid)}), 5, "kernel thread");
}

TEST_CASE("a process without a collector is refused, with a list of what was searched") {
  LiveTarget target("plain");
  check_refused(run_tool({"--heap", "gc", "--count", text_of(target.pid())}), 5, "GC_size");
  check_refused(run_tool({"--heap", "gc", text_of(target.pid())}), 5, "GC_size");
  CHECK(target.child().is_running());
}

TEST_CASE("a 32-bit process is refused") {
  if (::access(target_path("plain32").c_str(), X_OK) != 0) {
    print_skip("no 32-bit compiler");
    return;
  }
  if (run_in_shell("exec \"$1\" </dev/null", {target_path("plain32")}).status == 126) {
    return print_skip("no 32-bit programs run here");
  }
  LiveTarget target("plain32");
  check_refused(run_tool({"--count", text_of(target.pid())}), 5, "32-bit");
  CHECK(target.child().is_running());
}

TEST_CASE("another user's process is refused, with the remedy") {
  if (::geteuid() != 0) {
    print_skip("only root can be two users");
    return;
  }
  constexpr uid_t kNobody = 65534;
  LiveTarget target("still");
  check_refused(run_tool({"--count", text_of(target.pid())}, {.uid = kNobody}), 4, "root");
  CHECK(target.child().is_running());
}

TEST_CASE("a process that is traced already is refused, and its tracer named") {
  LiveTarget target("still");
  REQUIRE(::ptrace(PTRACE_SEIZE, target.pid(), nullptr, nullptr) == 0);
  check_refused(run_tool({"--count", text_of(target.pid())}), 9, text_of(::getpid()));
}

TEST_CASE("a process that exits halfway is reported as gone") {
  const int all = rounds(40, 1000);
  int gone = 0;
  for (int round = 0; round < all; ++round) {
    LiveTarget target("still", {"200000"});
    ChildProcess tool({tool_path(), "--count", "-q", text_of(target.pid())});
    std::this_thread::sleep_for(std::chrono::microseconds(500 * (round % 40)));
    target.child().signal(SIGKILL);
    tool.read_rest(seconds(20));
    const std::string errors = tool.read_errors(seconds(20));
    const std::optional<int> end = tool.wait_end(seconds(20));
    CAPTURE(errors);
    REQUIRE(end.has_value());
    REQUIRE(WIFEXITED(*end));
    CHECK((WEXITSTATUS(*end) == 0 || WEXITSTATUS(*end) == 3));
    if (WEXITSTATUS(*end) != 3) continue;
    ++gone;
    CHECK(is_one_clear_message(errors));
  }
  CHECK(gone > 0);
}

TEST_CASE("garbage for --type-info is refused and the file named") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("types.json");
  LiveTarget target("still");
  const std::vector<std::string> arguments{"--count", "--type-info", file, text_of(target.pid())};
  SUBCASE("missing") {}
  SUBCASE("empty") {
    write_text(file, "");
  }
  SUBCASE("a directory") {
    fs::create_directory(file);
  }
  SUBCASE("truncated") {
    write_text(file, R"({"types":[{"name":"Session","id":17)");
  }
  SUBCASE("another kind of JSON") {
    write_text(file, R"({"weather":"fine"})");
  }
  SUBCASE("bytes of any kind") {
    write_text(file, std::string("\x7f\x45\x4c\x46\0\xff\xfe", 7));
  }
  SUBCASE("nested too deeply") {
    write_text(file, std::string(1000000, '['));
  }
  SUBCASE("a gigabyte of nothing") {
    write_text(file, "");
    fs::resize_file(file, std::uintmax_t{1} << 30U);
  }
  check_refused(run_tool(arguments), 1, file);
  CHECK(target.child().is_running());
}

TEST_CASE("a type table with hostile names does no harm") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("types.txt");
  constexpr int kLast = 400;
  std::string table =
      fmt::format("CRYSTAL_DUMP_TYPE_ID\n{{0 - 0}}: Nil\n{{1 - {}}}: Object\n", kLast);
  table += fmt::format("  {{1 - {}}}: Reference\n", kLast - 1);
  for (int id = 1; id < kLast - 1; ++id) {
    table +=
        fmt::format("    {{{} - {}}}: A\x1b[2J\x07\"|\t\\\xc2\x9b\xff\xe2\x80\xae{}\n", id, id, id);
  }
  write_text(file, table);
  LiveTarget target("still");
  for (const char* format : {"table", "tsv", "csv", "json", "markdown", "memprof"}) {
    CAPTURE(format);
    const ToolRun run =
        run_tool({"--count", "-f", format, "--type-info", file, text_of(target.pid())});
    CHECK((run.status == 0 || run.status == 1));
    CHECK_FALSE(contains(run.output + run.errors, "\x1b"));
    CHECK_FALSE(contains(run.output + run.errors, "\x07"));
  }
  CHECK(target.child().is_running());
}

TEST_CASE("an output that cannot be written is reported") {
  LiveTarget target("still");
  const std::string pid = text_of(target.pid());
  SUBCASE("a full device") {
    for (const char* report : {"--count", "-q"}) {
      check_refused(run_in_shell("exec \"$0\" -q \"$@\" >/dev/full", {report, pid}), 8, "No space");
    }
  }
  SUBCASE("no such directory") {
    check_refused(run_tool({"-q", "-o", "/no/such/directory/heap.jsonl", pid}), 8, "/no/such");
  }
  SUBCASE("a directory where nothing can be made") {
    check_refused(run_tool({"-q", "-o", "/proc/heap.jsonl", pid}), 8, "/proc");
  }
  SUBCASE("a directory with that name") {
    const TemporaryDirectory directory;
    check_refused(run_tool({"-q", "--force", "-o", directory.path(), pid}), 8, directory.path());
    CHECK(directory.list().empty());
  }
  SUBCASE("closed") {
    const ToolRun run = run_in_shell("exec \"$0\" -q --count \"$@\" >&-", {pid});
    CHECK(run.status == 8);
    CHECK(is_one_clear_message(run.errors));
  }
  CHECK(target.child().is_running());
}

TEST_CASE("a disk that is full leaves no partial file") {
  if (!can_unshare()) {
    print_skip("no rights to mount a small file system");
    return;
  }
  const TemporaryDirectory directory;
  LiveTarget target("still", {"100000"});
  const ToolRun run = run_in_shell(
      "unshare --mount bash -c 'mount -t tmpfs -o size=64k none \"$2\" && "
      "{ \"$0\" -q -o \"$2/heap.jsonl\" \"$1\"; status=$?; ls -A \"$2\"; exit $status; }' "
      "\"$0\" \"$@\"",
      {text_of(target.pid()), directory.path()});
  check_refused(run, 8, "No space");
}

TEST_CASE("a file system that is read-only is named") {
  if (!can_unshare()) {
    print_skip("no rights to mount a small file system");
    return;
  }
  const TemporaryDirectory directory;
  LiveTarget target("still");
  const ToolRun run = run_in_shell(
      "unshare --mount bash -c 'mount -t tmpfs -o ro none \"$2\" && "
      "exec \"$0\" -q -o \"$2/heap.jsonl\" \"$1\"' \"$0\" \"$@\"",
      {text_of(target.pid()), directory.path()});
  check_refused(run, 8, "Read-only");
}

TEST_CASE("no secret of the target gets into a snapshot without a request") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("heap.jsonl");
  ::setenv("HEAPATTACH_TEST_SECRET", "sentinel-of-the-environment", 1);
  LiveTarget target("still", {"1000", "--secret"});
  ::unsetenv("HEAPATTACH_TEST_SECRET");
  const ToolRun run = run_tool({"--all", "-v", "-o", name, text_of(target.pid())});
  CHECK(run.status == 0);
  const std::string text = read_text(name) + run.output + run.errors;
  CHECK(text.find("sentinel-of") == std::string::npos);
  CHECK(run_in_shell("tr '\\0' '\\n' </proc/\"$1\"/environ", {text_of(target.pid())})
            .output.find("sentinel-of-the-environment") != std::string::npos);
}

TEST_CASE("a limit on the size of files is a failed write, not our death") {
  const TemporaryDirectory directory;
  LiveTarget target("still", {"100000"});
  const ToolRun run = run_in_shell("ulimit -f 64; exec \"$0\" -q \"$@\"",
                                   {"-o", directory.file("heap.jsonl"), text_of(target.pid())});
  check_refused(run, 8, "heap.jsonl");
  CHECK(directory.list().empty());
}

TEST_CASE("a reader that goes away ends the writing in silence") {
  LiveTarget target("still", {"100000"});
  const ToolRun run = run_in_shell("\"$0\" -q \"$@\" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}",
                                   {text_of(target.pid())});
  CHECK(run.status == 0);
  CHECK(run.errors.empty());
  CHECK(target.child().is_running());
}

TEST_CASE("an existing file is replaced only by force") {
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl");
  write_text(file, "precious");
  LiveTarget target("still");
  const std::string pid = text_of(target.pid());
  check_refused(run_tool({"-q", "-o", file, pid}), 8, "--force");
  CHECK(read_text(file) == "precious");
  CHECK(directory.list() == std::vector<std::string>{"heap.jsonl"});

  CHECK(run_tool({"-q", "--force", "-o", file, pid}).status == 0);
  CHECK(read_text(file).starts_with("{\"record\":\"snapshot\""));
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0600);
  CHECK(directory.list() == std::vector<std::string>{"heap.jsonl"});
}

TEST_CASE("nothing is written through a link") {
  const TemporaryDirectory directory;
  const std::string link = directory.file("heap.jsonl");
  const std::string victim = directory.file("victim");
  LiveTarget target("still");
  const std::string pid = text_of(target.pid());
  SUBCASE("a symbolic link") {
    write_text(victim, "precious");
    fs::create_symlink(victim, link);
  }
  SUBCASE("a hard link") {
    write_text(victim, "precious");
    fs::create_hard_link(victim, link);
  }
  SUBCASE("a dangling link") {
    fs::create_symlink(victim, link);
  }
  const std::string before = read_text(victim);
  check_refused(run_tool({"-q", "-o", link, pid}), 8, link);
  CHECK(read_text(victim) == before);
  CHECK(run_tool({"-q", "--force", "-o", link, pid}).status == 0);
  CHECK(read_text(victim) == before);
  CHECK(fs::exists(victim) == !before.empty());
  CHECK(fs::symlink_status(link).type() == fs::file_type::regular);
}

}  // namespace heapattach
