#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "attach/process/process.h"

namespace heapattach {

// Ends a copy of a process whose thread has waited in one place for a lock: the thread that holds
// the lock is not in the copy. It waits for a quarter of a second, or for a moment if nothing can
// end it. Watches it on a thread of its own, from construction to destruction.
class LockWatch {
 public:
  explicit LockWatch(const Process& copy);
  ~LockWatch();
  LockWatch(const LockWatch&) = delete;
  LockWatch& operator=(const LockWatch&) = delete;

  [[nodiscard]] bool has_ended_it() const { return has_ended_it_; }

 private:
  void watch();

  const Process& copy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;  // guarded by mutex_
  std::atomic<bool> has_ended_it_{false};
  std::thread thread_;
};

}  // namespace heapattach
