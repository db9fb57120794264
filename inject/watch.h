#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "attach/process.h"

namespace heapattach {

// Ends a process of ours at once and frees its memory from here, so that it does not matter when it
// gets a processor to die on. It still has to be reaped.
void kill_and_release(pid_t pid) noexcept;

// Checks every millisecond, from a thread of its own, whether there is still room for a clone, and
// gives the clone up before there is none. The kernel's own choice comes too late: while the
// process that it has chosen is dying, its next check sees neither that process nor the freed
// memory, and may choose the target.
class CloneWatch {
 public:
  // Why there is no room any more; nothing while there is some.
  using Shortage = std::function<std::optional<std::string>()>;

  // Starts before there is a clone, so that no time is lost afterwards. `shortage` is called
  // repeatedly, and `give_up` with the clone at most once, on the watching thread.
  static Result<std::unique_ptr<CloneWatch>> start(Shortage shortage,
                                                   std::function<void(pid_t)> give_up);
  // Nothing is called after this.
  ~CloneWatch() = default;
  CloneWatch(const CloneWatch&) = delete;
  CloneWatch& operator=(const CloneWatch&) = delete;

  // From now on there is a clone.
  void look_after(pid_t clone) { clone_ = clone; }

  // The result of shortage() when the clone was given up; nothing if it was not.
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
