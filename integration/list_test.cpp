// The list of processes that can be read is true, and the processes do not notice that it is made.

#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include "integration/cloning.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// The row of a process in the list, as JSON; empty if it is not there.
std::string row_of(const ToolRun& run, pid_t pid) {
  simdjson::dom::parser parser;
  const simdjson::dom::element list = parser.parse(run.output);
  for (const simdjson::dom::element row : simdjson::dom::array(list["processes"])) {
    if (std::int64_t(row["pid"]) == pid) return simdjson::minify(row);
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The name of a process, as the kernel reports it.
std::string name_of(pid_t pid) {
  std::string name = read_text(fmt::format("/proc/{}/comm", pid));
  return name.substr(0, name.find('\n'));
}

ToolRun list(const LiveTarget& target, const ChildOptions& options = {}) {
  return run_tool({"list", "--json", "--name", name_of(target.pid())}, options);
}

}  // namespace

TEST_CASE(
    "the list has the runtime, the heaps and the memory of a process, which does not notice") {
  struct Expected {
    const char* target;
    std::vector<std::string> arguments;
    const char* runtime;
    const char* heaps;
  };
  const Expected all[] = {
      {"still", {"5000"}, "", "\"heaps\":[\"gc\",\"malloc\"]"},
      {"typed_service_debug", {}, "\"runtime\":\"crystal\"", "\"gc\""},
      {"service_static_stripped", {}, "\"runtime\":\"crystal\"", "\"gc\""},
      {"plain", {}, "", "\"heaps\":[\"malloc\"]"},
  };
  for (const Expected& one : all) {
    CAPTURE(one.target);
    if (!is_target_built(one.target)) continue;
    LiveTarget target(one.target, one.arguments);
    const Traces before = traces_of(target.pid());
    const ToolRun run = list(target);
    CHECK_MESSAGE(run.status == 0, run.errors);
    const std::string row = row_of(run, target.pid());
    CHECK_MESSAGE(has(row, one.runtime), row);
    CHECK_MESSAGE(has(row, one.heaps), row);
    CHECK_MESSAGE(has(row, fmt::format("\"name\":\"{}\"", name_of(target.pid()))), row);
    CHECK_MESSAGE(has(row, "\"started\":\"2"), row);
    CHECK(difference(before, traces_of(target.pid())) == "");
  }
}

TEST_CASE("a program whose path has a blank has not given itself a title") {
  const std::string copy = "plain copy";
  std::filesystem::copy_file(target_path("plain"), target_path(copy),
                             std::filesystem::copy_options::overwrite_existing);
  LiveTarget target(copy);
  for (const bool is_deleted : {false, true}) {
    CAPTURE(is_deleted);
    if (is_deleted) std::filesystem::remove(target_path(copy));
    const std::string row = row_of(list(target), target.pid());
    CHECK_MESSAGE(has(row, "\"name\":\"target_plain co"), row);
    CHECK_MESSAGE(!has(row, "title"), row);
  }
}

TEST_CASE("the list leaves out what may not be read, and says so") {
  if (::geteuid() != 0) {
    print_skip("running as another user needs root");
    return;
  }
  LiveTarget target("plain");
  const ToolRun run = list(target, {.uid = 1000});
  CHECK(run.status == 4);
  CHECK(row_of(run, target.pid()).empty());
  CHECK_MESSAGE(has(run.errors, "no process can be read"), run.errors);
  CHECK(run_tool({"list", "--name", "no such name"}).status == 3);
}

TEST_CASE("without arguments, a terminal gets the list, and a script an error") {
  LiveTarget target("plain");
  const ToolRun script = run_tool({});
  CHECK(script.status == 2);
  CHECK(script.output.empty());
  CHECK_MESSAGE(has(script.errors, "no process and no file given"), script.errors);
  const ToolRun terminal = run_in_shell("script -qec \"$0\" /dev/null </dev/null", {});
  CHECK_MESSAGE(terminal.status == 0, terminal.output);
  CHECK_MESSAGE(has(terminal.output, "next: heapattach diagnose "), terminal.output);
  CHECK_MESSAGE(has(terminal.output, "resident"), terminal.output);
  CHECK(run_tool({"list", "4711"}).status == 2);
}

TEST_CASE("bash completes pids, names of processes, and types of the snapshots that it finds") {
  LiveTarget target("plain");
  const TemporaryDirectory directory;
  // Completes the last word of a line, as bash does for a key press.
  const std::string script =
      "cd \"$1\" && eval \"$($0 help bash)\" && COMP_LINE=$2 COMP_POINT=${#2} && "
      "read -ra COMP_WORDS <<<\"${2//::/ :: }\" && [[ $2 != *' ' ]] || COMP_WORDS+=('') && "
      "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _heapattach && printf '%s\\n' \"${COMPREPLY[@]}\"";
  const auto completed = [&](const std::string& line) {
    return run_in_shell(script, {directory.path(), line}).output;
  };
  const std::string pid = fmt::format("{}", target.pid());
  CHECK(has("\n" + completed("heapattach count " + pid), "\n" + pid + "\n"));
  CHECK(has(completed("heapattach --name " + name_of(target.pid()).substr(0, 8)),
            name_of(target.pid()) + "\n"));
  CHECK(completed("heapattach why Ses") == "\n");
  run_in_shell("gzip -c \"$1\" >\"$2\"",
               {CONSUMERS "/../data/heap.jsonl", directory.file("heap.jsonl.gz")});
  CHECK(completed("heapattach why Shop::Ses") == "Session\nSessionStore\n");
  CHECK(completed("heapattach count --type Str") == "String\n");
  CHECK(has(completed("heapattach graph "), "Shop::Cart\n"));
}

TEST_CASE("the real shells complete reports, options, formats, files, pids and types") {
  const TemporaryDirectory directory;
  run_in_shell("gzip -c \"$1\" >\"$2\"",
               {CONSUMERS "/../data/heap.jsonl", directory.file("heap.jsonl.gz")});
  const std::string pid = std::to_string(::getpid());
  struct Expected {
    std::string before;
    std::string word;
    std::string completed;
  };
  const Expected all[] = {
      {"", "dia", "diagnose"},
      {"", "--pause-b", "--pause-budget"},
      {"-f ", "ppr", "pprof"},
      {"-o ", "heap.j", "heap.jsonl.gz"},
      {"count --type ", "Str", "String"},
      {"why ", "Shop::SessionS", "Shop::SessionStore"},
      {"count ", pid, pid},
  };
  const auto is_installed = [](const char* shell) {
    const bool is_there = run_in_shell("command -v \"$1\" >/dev/null", {shell}).status == 0;
    if (!is_there) print_skip(fmt::format("no {}", shell));
    return is_there;
  };
  const bool has_zsh = is_installed("zsh");
  const bool has_fish = is_installed("fish");
  for (const auto& [before, word, completed] : all) {
    const std::string line = "heapattach " + before + word;
    CAPTURE(line);
    if (has_zsh) {
      const ToolRun run = run_in_shell("cd \"$1\" && zsh -f \"$3\" \"$0\" \"$2\" | tr -d ' '",
                                       {directory.path(), line, CONSUMERS "/tab.zsh"});
      std::string expected = "[heapattach" + before + completed + "]\n";
      std::erase(expected, ' ');
      CHECK(run.output == expected);
    }
    if (has_fish) {
      const ToolRun run = run_in_shell(
          "cd \"$1\" && fish --no-config -c \"$0 help fish | source; complete -C '$2'\" | cut -f1",
          {directory.path(), line});
      CHECK_MESSAGE(has("\n" + run.output, "\n" + completed + "\n"), run.output);
    }
  }
}

}  // namespace heapattach
