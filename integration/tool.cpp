#include "integration/tool.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/wait.h>

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
