#include "integration/tool.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapattach {

namespace {

constexpr std::chrono::seconds kLongestRun{90};

ToolRun run(const std::vector<std::string>& command, const ChildOptions& options) {
  ChildProcess child(command, options);
  ToolRun result;
  result.output = child.read_rest(kLongestRun);
  result.errors = child.read_errors(kLongestRun);
  const std::optional<int> end = child.wait_end(kLongestRun);
  if (!end) throw std::runtime_error(fmt::format("{} did not end", command.front()));
  result.status = WIFEXITED(*end) ? WEXITSTATUS(*end) : -WTERMSIG(*end);
  return result;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

ToolRun run_tool(const std::vector<std::string>& arguments, const ChildOptions& options) {
  return run(joined({tool_path()}, arguments), options);
}

ToolRun run_in_shell(const std::string& script,
                     const std::vector<std::string>& arguments,
                     const ChildOptions& options) {
  return run(joined({"/bin/bash", "-c", script, tool_path()}, arguments), options);
}

ToolRun run_while_tracing(const std::string& report,
                          const std::string& begun,
                          const std::vector<std::string>& arguments,
                          const std::function<void()>& work) {
  const TemporaryDirectory directory;
  const std::vector<std::string> words = joined({directory.file(""), begun}, arguments);
  const std::string begin = "set -m; at=$1; begun=$2; shift 2; \"$0\" " + report;
  ToolRun run;
  std::thread tool([&] {
    run = run_in_shell(
        begin +
            " -v \"$@\" 2>\"$at/steps\" & tool=$!; "
            "until grep -q \"$begun\" \"$at/steps\" || ! kill -0 $tool; do sleep 0.05; done; "
            ": >\"$at/begun\"; until [[ -e $at/done ]]; do sleep 0.05; done; "
            "kill -INT $tool; wait $tool; status=$?; cat \"$at/steps\" >&2; exit $status",
        words);
  });
  while (::access(directory.file("begun").c_str(), F_OK) != 0) usleep(10'000);
  work();
  write_text(directory.file("done"), "");
  tool.join();
  return run;
}

const std::string& tool_path() {
  static const TemporaryDirectory directory;
  static const std::string path = [] {
    std::string copy = directory.file("heapattach");
    std::filesystem::copy_file(TOOL, copy);
    return copy;
  }();
  return path;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "heapattach-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  path_ = name;
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryDirectory::list() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace heapattach
