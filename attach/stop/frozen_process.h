#pragma once

#include <vector>

#include "attach/stop/freeze.h"
#include "attach/stop/traced_thread.h"

namespace heapattach {

// Holds every thread of a process stopped. The destructor lets them run again.
class FrozenProcess {
 public:
  // How the threads were released.
  struct Thaw {
    int rewound = 0;
    int left_behind = 0;  // released only when the tracing thread ends
  };

  // Stops the threads, lists again until a complete listing shows no new one, and reads the
  // registers. Threads in uninterruptible sleep are held without being stopped: they cannot return
  // to user code. `tracer` must outlive the result. Timeout if a thread does not stop; Gone if the
  // process ends or executes another program during the freeze.
  static Result<FrozenProcess> freeze(Tracer& tracer, const FreezeOptions& options);

  [[nodiscard]] const std::vector<FrozenThread>& threads() const { return threads_; }
  [[nodiscard]] int passes() const { return passes_; }
  // When the first thread was asked to stop.
  [[nodiscard]] std::chrono::steady_clock::time_point begin() const { return begin_; }

  // Releases all threads.
  Thaw thaw() noexcept;

 private:
  friend class Freezer;

  FrozenProcess() = default;

  std::vector<FrozenThread> threads_;
  std::vector<TracedThread> held_;
  int passes_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace heapattach
