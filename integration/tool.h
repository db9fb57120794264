#pragma once

#include <string>
#include <vector>

#include "integration/child_process.h"

namespace heapattach {

// What a finished run of heapattach left: its exit status (or minus the signal that ended it), and
// what it wrote.
struct ToolRun {
  int status = 0;
  std::string output;
  std::string errors;
};

// Runs the heapattach of this build with `arguments` to its end. Throws std::runtime_error if that
// takes longer than a minute and a half.
ToolRun run_tool(const std::vector<std::string>& arguments, const ChildOptions& options = {});

// The same by a line of bash, in which "$0" is heapattach and "$@" are `arguments`: for output that
// goes somewhere peculiar.
ToolRun run_in_shell(const std::string& script,
                     const std::vector<std::string>& arguments,
                     const ChildOptions& options = {});

// Where heapattach lies, also for those who may not look into the build directory.
const std::string& tool_path();

// A directory that lives as long as this; everybody may look into it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // The names of what it holds, sorted.
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  std::string path_;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace heapattach
