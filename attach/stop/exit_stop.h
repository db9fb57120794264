#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/result.h"
#include "attach/stop/freeze.h"

namespace heapattach {

// The threads of a program whose end is awaited, and which of them have stopped because they are
// about to end. Plain data: tests can play through every order of events.
class EndingThreads {
 public:
  // How a thread ends, where it has stopped for that.
  struct End {
    std::uint64_t system_call = 0;  // the call that it made last
    int status = 0;                 // as of waitpid
  };

  void add(pid_t tid) { threads_.try_emplace(tid); }
  void stop(pid_t tid, End end) { threads_[tid] = end; }
  void remove(pid_t tid) { threads_.erase(tid); }
  // The process runs another program now, and has one thread.
  void become(pid_t pid);

  [[nodiscard]] bool knows(pid_t tid) const { return threads_.contains(tid); }
  [[nodiscard]] std::vector<pid_t> running() const;
  [[nodiscard]] std::vector<pid_t> stopped() const;
  // Whether the whole process ends: by exit(), by a signal, or with its last thread.
  [[nodiscard]] bool is_process_ending() const;
  // Removes and returns the threads that end alone, while others continue.
  std::vector<pid_t> take_single_ends();
  // Removes and returns the threads that a seccomp filter has killed. Such a thread looks as if the
  // process ended by SIGSYS, but the others keep running. `pending` has the pending signals of the
  // others: if SIGKILL is among them, the whole process ends, delayed by a thread that the kernel
  // does not let go.
  std::vector<pid_t> take_filtered_ends(const std::map<pid_t, std::uint64_t>& pending);
  // Removes and returns all threads that have stopped. They gave way to an execve() of another
  // thread.
  std::vector<pid_t> take_all_ends();

 private:
  std::map<pid_t, std::optional<End>> threads_;
};

// A program that we start, and that stops when it is about to exit: all its threads and all its
// memory are still there, but none of them will run again. It is traced, without being slowed down:
// it stops only for new threads, signals and execve(). Everything must be called by one thread.
// If this ends, the program goes on.
class ExitStop {
 public:
  static Result<ExitStop> start(const std::vector<std::string>& command);
  ~ExitStop() { release(); }
  ExitStop(ExitStop&& other) noexcept;
  ExitStop& operator=(ExitStop&&) = delete;
  ExitStop(const ExitStop&) = delete;
  ExitStop& operator=(const ExitStop&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Waits until it is about to exit. Gone if it ended without a stop. SIGINT does not end the
  // waiting, because a terminal sends it to the program as well; SIGTERM does.
  Result<void> wait();
  // Its threads, once it has stopped. One without registers could not be stopped.
  [[nodiscard]] const std::vector<FrozenThread>& threads() const { return held_; }

  // Lets it exit. Returns how, in words.
  std::string finish();

 private:
  explicit ExitStop(pid_t pid) : pid_(pid) { threads_.add(pid); }
  Result<bool> take_next_event();
  bool may_look(std::optional<std::chrono::steady_clock::time_point>& until);
  void take_event(pid_t tid, int status);
  void take_stop(pid_t tid, int status);
  void let_go(const std::vector<pid_t>& tids, bool is_lost);
  [[nodiscard]] bool is_replaced() const;
  [[nodiscard]] std::map<pid_t, std::uint64_t> pending_signals() const;
  [[nodiscard]] bool is_complete() const;
  Result<void> look();
  void release() noexcept;

  pid_t pid_;                  // 0 after a move
  std::optional<int> status_;  // of waitpid, once it has ended
  EndingThreads threads_;
  std::vector<pid_t> lost_;  // let go although the process was ending
  std::vector<FrozenThread> held_;
};

}  // namespace heapattach
