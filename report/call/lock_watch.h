#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "attach/process/process.h"

namespace heapattach {

// Kills a copy of a process whose thread has waited in one place for a lock, because the thread
// that holds the lock is not in the copy. It is killed after a quarter of a second, or after a
// moment if nothing can end the wait. Watches the copy from construction to destruction, on a
// thread of heapattach's own.
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
