#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attach/stop/freeze.h"
#include "inject/remote_control.h"
#include "inject/watch.h"

namespace heapattach {

struct CloneOptions {
  // The budget also limits the clone: if copying the page tables may take longer, no clone is made.
  FreezeOptions freeze;
  // Called while the target is frozen, before the clone is made; an error prevents the clone.
  std::function<Result<void>(const FrozenView&)> look;
  std::optional<pid_t> borrow;  // borrow only this thread
};

// A throwaway copy of a process, made by one system call in a borrowed thread, and kept stopped. It
// has the memory that the target had at that moment and nothing else: no open files and no signals.
// It never runs the target's code. The target resumes at once.
//
// The clone belongs to the thread of our process that made it, dies with us, and is given up before
// memory runs out: see CloneWatch. It is an invisible child of the target: it has no exit signal,
// so neither SIGCHLD nor the target's own wait() reports it.
class Clone {
 public:
  // `target` must outlive the result. All changes to the target go through `control`. If no clone
  // can be made, the error is Denied, Timeout, Gone, or Impossible with the reason.
  static Result<Clone> make(const Process& target,
                            const CloneOptions& options,
                            RemoteControl& control);
  static Result<Clone> make(const Process& target, const CloneOptions& options);
  ~Clone() { static_cast<void>(end()); }
  Clone(Clone&& other) noexcept;
  Clone& operator=(Clone&& other) noexcept;
  Clone(const Clone&) = delete;
  Clone& operator=(const Clone&) = delete;

  [[nodiscard]] const Process& process() const { return *process_; }
  // How long the target was frozen, and more.
  [[nodiscard]] const FreezeReport& freeze() const { return freeze_; }

  // Whether the clone is still intact, so that everything read from it so far is valid. A process
  // that the OOM killer is killing may already have lost memory.
  [[nodiscard]] bool is_whole() const;
  // If the clone was given up, the place where memory ran short.
  [[nodiscard]] std::optional<std::string> given_up() const {
    return watch_ ? watch_->given_up() : std::nullopt;
  }

  // Ends the clone and makes a thread of the target reap it, so that not even a zombie is left. On
  // failure, the error says what is left; the next report clears it away.
  Result<void> end();

 private:
  friend class CloneMaker;

  Clone(const Process& target,
        Process process,
        pid_t number,
        FreezeReport freeze,
        const Deadline& deadline)
      : target_(&target),
        process_(std::move(process)),
        number_(number),
        freeze_(std::move(freeze)),
        deadline_(deadline) {}

  const Process* target_;           // null after a move
  std::optional<Process> process_;  // nothing once the clone has ended
  pid_t number_;                    // its pid in the target's view
  FreezeReport freeze_;
  Deadline deadline_;
  std::unique_ptr<CloneWatch> watch_;  // null after a move, and once the clone has ended
};

}  // namespace heapattach
