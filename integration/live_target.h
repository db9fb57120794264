#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "integration/child_process.h"

namespace heapattach {

// A target's answer: the numbers of a line such as "made=12 joined=12".
using Answer = std::map<std::string, std::int64_t>;

// A real process to attach to: a program from targets/. The constructor starts it and waits until
// it prints a line that begins with "ready". It answers questions line by line (targets/talk.h). If
// it does not, throws std::runtime_error, which says what was missing.
class LiveTarget {
 public:
  explicit LiveTarget(const std::string& name,
                      const std::vector<std::string>& arguments = {},
                      const ChildOptions& options = {.capture_stderr = false});

  [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }
  [[nodiscard]] ChildProcess& child() noexcept { return child_; }
  // The numbers that followed "ready" on its line.
  [[nodiscard]] const Answer& greeting() const noexcept { return greeting_; }

  // Asks "report", or another question, and parses the answer.
  Answer ask(const std::string& question = "report",
             std::chrono::milliseconds timeout = std::chrono::seconds(60));
  // Reads the next line of an answer that has several lines.
  std::string read_line(std::chrono::milliseconds timeout = std::chrono::seconds(60));

 private:
  std::string name_;
  ChildProcess child_;
  Answer greeting_;
};

// The path of a target's program; a path is returned unchanged.
std::string target_path(const std::string& name);

// Whether a target could be built on this machine. If not, prints that the calling test is skipped.
bool is_target_built(const std::string& name);

}  // namespace heapattach
