#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/fd.h"

namespace heapattach {

// How to start a child, besides its arguments.
struct ChildOptions {
  uid_t uid = 0;               // the user to run as; 0: the test's own
  bool capture_stderr = true;  // false: the child shares the test's standard error
};

// A program that the test has started, in a process group of its own, with its standard streams
// connected to the test. The destructor kills it with its whole group, and reaps it. It also dies
// with the test. Create it on a thread that outlives it, because the kernel ends it with that
// thread (PR_SET_PDEATHSIG).
class ChildProcess {
 public:
  // Throws std::runtime_error if the program cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command, const ChildOptions& options = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  void send_line(const std::string& line);
  // The next line of the child's standard output, without the line break; none at the end or after
  // `timeout`.
  std::optional<std::string> read_line(std::chrono::milliseconds timeout);
  // Everything else from either stream, until the end or `timeout`.
  std::string read_rest(std::chrono::milliseconds timeout);
  std::string read_errors(std::chrono::milliseconds timeout);

  void signal(int number) const;
  // Reaps the child and returns its wait status; none if it still runs after `timeout`.
  std::optional<int> wait_end(std::chrono::milliseconds timeout);
  [[nodiscard]] bool is_running() { return !wait_end(std::chrono::milliseconds(0)).has_value(); }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;  // set once the child has been reaped
  Fd input_;                   // the child's standard input
  Fd output_;
  Fd errors_;
  std::string pending_;  // read from output_, but not returned yet
};

}  // namespace heapattach
