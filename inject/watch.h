#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "attach/process/process.h"

namespace heapattach {

// Kills one of our processes and frees its memory from this thread, so that the memory is free even
// before the process gets a processor to die on. The process must still be reaped.
void kill_and_release(pid_t pid) noexcept;

// Checks every millisecond, on a separate thread, whether there is still room for a clone, and
// gives the clone up before there is no more. We cannot rely on the OOM killer: while the process
// that it has chosen is dying, its next check sees neither that process nor the freed memory, and
// may choose the target.
class CloneWatch {
 public:
  // Returns why memory has run short; nothing while there is enough.
  using Shortage = std::function<std::optional<std::string>()>;

  // Starts the thread. Call this before there is a clone, so that no time is lost afterwards. The
  // thread calls `shortage` repeatedly, and `give_up` with the clone at most once.
  static Result<std::unique_ptr<CloneWatch>> start(Shortage shortage,
                                                   std::function<void(pid_t)> give_up);
  // Stops the thread. Neither function is called after this.
  ~CloneWatch() = default;
  CloneWatch(const CloneWatch&) = delete;
  CloneWatch& operator=(const CloneWatch&) = delete;

  // Lets the thread watch this clone from now on.
  void look_after(pid_t clone) { clone_ = clone; }

  // If the clone was given up, what shortage() returned then.
  [[nodiscard]] std::optional<std::string> given_up() const;

 private:
  CloneWatch() = default;
  void watch(const std::stop_token& stop,
             const Shortage& shortage,
             const std::function<void(pid_t)>&);

  std::atomic<pid_t> clone_{0};
  mutable std::mutex mutex_;
  std::optional<std::string> reason_;
  std::jthread thread_;  // last: the others outlive it
};

}  // namespace heapattach
