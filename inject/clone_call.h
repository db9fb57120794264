#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inject/call_frame.h"
#include "inject/clone_walls.h"
#include "inject/own_process.h"

namespace heapattach {

// How a call in a clone ended.
struct CallOutcome {
  enum class End : std::uint8_t {
    Returned,
    Crashed,   // by `number`, a signal of its own making or one that it sent itself
    Exited,    // with status `number`
    Executed,  // it wanted to begin another program
    TimedOut,
    Killed,  // by signal `number`, from elsewhere
  };
  End end = End::Returned;
  std::uint64_t value = 0;  // what it returned
  int number = 0;
  RemoteAddr fault;        // the address that it could not use, if that was why it crashed
  bool is_shared = false;  // … which is memory shared with others, where it may not write
  pid_t thread = 0;        // that stands there
  std::optional<RawRegisters> where;  // of that thread
  std::vector<std::byte> stack;       // … from its stack pointer on, a good piece of it
  int refused_processes = 0;          // that it wanted to start
  std::vector<int> refused_calls;     // system calls that it may not make, each once
};

// A pipe for a function to write to by a path, and the end of it that is ours.
struct ClonePipe {
  std::string path;
  Fd reading_end;
};

// Calls functions of the target in a clone of it. They have what the target had in its memory, and
// nothing else: no descriptors but an empty input and two that are kept for us, no other threads,
// no other process that they could signal or trace, no memory that they share with anybody, and of
// the kernel only what CallRules allow.
//
// They run on the clone's one thread and on its stack, below whatever it had there: collectors and
// interpreters look for their own data between what they know as the stack's beginning and where
// they stand, so a stack elsewhere would have them crash.
//
// What they can still reach is files, to read them.
class CloneCalls {
 public:
  // `clone` must outlive the result, and is used up by it. Unsupported if it cannot be closed off.
  // `beyond`: system calls that its functions may make besides those that CallRules allow.
  static Result<CloneCalls> prepare(const Process& clone, std::vector<int> beyond = {});

  Result<CallOutcome> call(RemoteAddr function,
                           std::span<const CallArgument> arguments,
                           std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] const MemoryReader& memory() const { return own_->memory(); }
  // For a function that writes to a path; made anew each time.
  Result<ClonePipe> open_pipe();

  // What is in the file behind descriptor 1 or 2, from `offset` on; at most kMostOutput bytes.
  [[nodiscard]] Result<std::string> output(int descriptor, std::size_t offset) const;
  [[nodiscard]] std::size_t output_bytes(int descriptor) const;

  [[nodiscard]] const CloneWalls& walls() const { return walls_; }

  static constexpr std::size_t kMostOutput = std::size_t{64} << 20;

 private:
  using End = CallOutcome::End;

  explicit CloneCalls(std::unique_ptr<OwnProcess> own) : own_(std::move(own)) {}

  Result<void> give_descriptors();
  Result<CallOutcome> follow(const CallFrame& frame,
                             OwnStop stop,
                             std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] CallOutcome outcome_of(const OwnStop& stop, End end) const;
  // What to do about a signal: an outcome, or nothing if the clone is to go on.
  std::optional<CallOutcome> judge_signal(const CallFrame& frame,
                                          const OwnStop& stop,
                                          std::optional<CallOutcome>& handled) const;

  std::unique_ptr<OwnProcess> own_;
  std::array<Fd, 3> files_;  // behind its descriptors
  CloneWalls walls_;
};

}  // namespace heapattach
