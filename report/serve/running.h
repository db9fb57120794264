#pragma once

#include <string>

#include "attach/base/fd.h"
#include "attach/base/result.h"
#include "report/serve/schedule.h"
#include "report/serve/serve.h"

namespace heapattach::serve {

// A run of heapattach for one capture, in a process of its own that dies with us.
class Running {
 public:
  static Result<Running> start(const ServeOptions& options, const Capture& capture);
  // Asks the run to end if it has not. Its own guardian makes sure that it does.
  ~Running();
  Running(Running&& other) noexcept;
  Running& operator=(Running&& other) noexcept;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] const Capture& capture() const { return capture_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The run's standard error, which must be read, or the run blocks.
  [[nodiscard]] const Fd& errors() const { return errors_; }
  void read_errors();
  // Called once the run has been reaped, with its wait status and the processor time that it used.
  Ending end(int wait_status, std::chrono::nanoseconds processor_time);

 private:
  Running() = default;

  Capture capture_;
  pid_t pid_ = -1;  // -1: ended, or moved from
  Fd output_;       // the report; a file without a name
  Fd errors_;
  Fd pauses_;  // the length of the pause, as one number
  std::string last_words_;
};

}  // namespace heapattach::serve
