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
    Crashed,   // by `number`, a signal that it caused or sent itself
    Exited,    // with status `number`
    Executed,  // it tried to start another program
    TimedOut,
    Killed,  // by signal `number` from outside
  };
  End end = End::Returned;
  std::uint64_t value = 0;  // its return value
  int number = 0;
  RemoteAddr fault;        // the address that it could not access, if that caused the crash
  bool is_shared = false;  // … which is shared memory, where it may not write
  pid_t thread = 0;        // the thread that stopped there
  std::optional<RawRegisters> where;  // of that thread
  std::vector<std::byte> stack;       // … a piece of its stack from the stack pointer on
  int refused_processes = 0;          // how many processes it tried to start
  std::vector<int> refused_calls;     // system calls that it may not make, each once
};

// A pipe that a function can open by its path, and our end of it.
struct ClonePipe {
  std::string path;
  Fd reading_end;
};

// Calls functions of the target in a clone of it. They have the target's memory and nothing else:
// no descriptors except an empty input and two of ours, no other threads, no other process that
// they could signal or trace, no shared memory, and only the system calls that CallRules allow.
//
// They run on the clone's only thread and on its stack, below what was there: collectors and
// interpreters look for their own data between the known beginning of the stack and the stack
// pointer, so on another stack they would crash.
//
// They can still read files.
class CloneCalls {
 public:
  // `clone` must outlive the result, and is used up by it. Unsupported if it cannot be isolated.
  // `beyond`: system calls that its functions may make in addition to CallRules.
  static Result<CloneCalls> prepare(const Process& clone, std::vector<int> beyond = {});

  Result<CallOutcome> call(RemoteAddr function,
                           std::span<const CallArgument> arguments,
                           std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] const MemoryReader& memory() const { return own_->memory(); }
  // For a function that writes to a path; a new one each time.
  Result<ClonePipe> open_pipe();

  // The contents of the file at descriptor 1 or 2, from `offset` on; at most kMostOutput bytes.
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
  // What to do about a signal: an outcome, or nothing if the clone should continue.
  std::optional<CallOutcome> judge_signal(const CallFrame& frame,
                                          const OwnStop& stop,
                                          std::optional<CallOutcome>& handled) const;

  std::unique_ptr<OwnProcess> own_;
  std::array<Fd, 3> files_;  // at its descriptors
  CloneWalls walls_;
};

}  // namespace heapattach
