#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "attach/base/fd.h"
#include "attach/base/result.h"
#include "attach/sandbox/sandbox_worker.h"

namespace heapattach {

// A worker without rights, as in sandbox.h, that reads what this process feeds to it, and returns
// its result when there is no more. It may use threads. For bytes that come from the target while
// it runs.
//
// Start it only while this process has one thread. Any failure of the worker becomes an error of
// take() or finish(); feed() fails as soon as it has stopped reading.
class FedWorker {
 public:
  // Reads `input` to its end before it writes.
  using Work = std::function<void(Fd input, SandboxOutput& output)>;

  static Result<std::unique_ptr<FedWorker>> start(const Work& work, const SandboxLimits& limits);
  FedWorker(const FedWorker&) = delete;
  FedWorker& operator=(const FedWorker&) = delete;
  ~FedWorker() = default;

  Result<void> feed(std::string_view bytes);
  void end_input() { input_.reset(); }
  // The next bytes of its result, exactly as many as there is room for.
  Result<void> take(std::span<std::byte> to);
  // Waits for its end, after everything was taken.
  Result<void> finish();

  // The protections that this system lacks; empty if none. Known after the first take().
  [[nodiscard]] std::string_view note() const { return note_; }

 private:
  FedWorker(Fd input, Fd output, pid_t pid, const SandboxLimits& limits);
  Result<void> take_all(std::span<std::byte> to);

  Fd input_;
  Fd output_;
  SandboxLimits limits_;
  Worker::Clock::time_point deadline_;
  Worker worker_;
  bool is_greeted_ = false;
  std::string_view note_;
};

}  // namespace heapattach
