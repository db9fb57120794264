#pragma once

#include <functional>
#include <string>
#include <vector>

#include "integration/child_process.h"

namespace heapattach {

// The result of a finished run of heapattach: its exit status (or minus the signal that ended it),
// and its output.
struct ToolRun {
  int status = 0;
  std::string output;
  std::string errors;
};

// Runs this build's heapattach with `arguments` to its end. Throws std::runtime_error after a
// minute and a half.
ToolRun run_tool(const std::vector<std::string>& arguments, const ChildOptions& options = {});

// Runs a line of bash, in which "$0" is heapattach and "$@" are `arguments`, for example to give
// heapattach an unusual output.
ToolRun run_in_shell(const std::string& script,
                     const std::vector<std::string>& arguments,
                     const ChildOptions& options = {});

// The path of heapattach, in a place that users who may not read the build directory can read.
const std::string& tool_path();

// A temporary directory that everybody may read.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // The names of the files in the directory, sorted.
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  std::string path_;
};

// Runs `report`, which records, while `work` uses the target, and ends the recording by Ctrl-C.
// `work` begins as soon as a step of `-v` contains `begun`.
ToolRun run_while_tracing(const std::string& report,
                          const std::string& begun,
                          const std::vector<std::string>& arguments,
                          const std::function<void()>& work);

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace heapattach
