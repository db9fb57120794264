#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attach/freeze.h"
#include "inject/remote_control.h"
#include "inject/watch.h"

namespace heapattach {

struct CloneOptions {
  // Its budget also bounds the clone: where the copying of page tables may take longer, none is
  // tried.
  FreezeOptions freeze;
  // Called while the target is frozen, before the clone is made; an error stops it there.
  std::function<Result<void>(const FrozenView&)> look;
  std::optional<pid_t> borrow;  // this thread and no other, if it may be
};

// A throwaway copy of a process, made by one system call that a thread of it was borrowed for, and
// held still. It has the memory that the target had in that instant, and nothing else: no open
// files, no signals, and it never runs the target's code. The target ran on at once.
//
// It belongs to the thread of ours that made it, dies with us, and is given up before memory runs
// out: see CloneWatch. It is an invisible child of the target: without exit signal, so that neither
// SIGCHLD nor the target's own wait() tells of it.
//
// Denied or Unsupported if none can be made, with the reason; Timeout, Gone.
class Clone {
 public:
  // `target` must outlive the result. `control` is how the target is touched.
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
  // What the target went through.
  [[nodiscard]] const FreezeReport& freeze() const { return freeze_; }

  // Whether it still stands as it was made, so that all that was read of it until now is true. A
  // process that is being killed for want of memory may already have lost parts of its own.
  [[nodiscard]] bool is_whole() const;
  // Where memory became so short that it was given up; nothing if it was not.
  [[nodiscard]] std::optional<std::string> given_up() const {
    return watch_ ? watch_->given_up() : std::nullopt;
  }

  // Ends it, and has a thread of the target take notice, so that nothing is left, not even a
  // zombie. An error says what is; the next report then clears that away too.
  Result<void> end();

 private:
  friend class CloneMaker;

  Clone(const Process& target, Process process, pid_t number, FreezeReport freeze)
      : target_(&target),
        process_(std::move(process)),
        number_(number),
        freeze_(std::move(freeze)) {}

  const Process* target_;           // null after a move
  std::optional<Process> process_;  // none once it has ended
  pid_t number_;                    // what the target calls it
  FreezeReport freeze_;
  std::unique_ptr<CloneWatch> watch_;  // null after a move, and once it has ended
};

}  // namespace heapattach
