#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inject/arch/call_frame.h"
#include "inject/clone_walls.h"
#include "inject/own_process.h"

namespace heapattach {

// The outcome of a call in a clone.
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
  bool is_shared = false;  // … in shared memory, to which it may not write
  pid_t thread = 0;        // the thread that stopped there
  std::optional<RawRegisters> where;  // of that thread
  std::vector<std::byte> stack;       // … part of its stack, from the stack pointer upwards
  int refused_processes = 0;          // how many processes it tried to start
  std::vector<int> refused_calls;     // forbidden system calls that it tried, each once
};

// A pipe that a function can open by path, where /proc is mounted, and our end of it.
struct ClonePipe {
  std::string path;
  int descriptor = -1;  // in the clone
  Fd reading_end;
};

// Calls the target's functions in a clone. They have the target's memory and nothing else: no
// descriptors except an empty input and two of ours, no other threads, no other process to signal
// or trace, no shared memory, and only the system calls that CallRules allows.
//
// They run on the clone's only thread and on its existing stack, below the data in use. Collectors
// and interpreters look for their data between the known start of the stack and the stack pointer,
// so they would crash on another stack.
//
// The functions can still read files.
class CloneCalls {
 public:
  // `clone` must outlive the result, and cannot be used for anything else. Unsupported if it cannot
  // be isolated. `beyond` lists system calls that are allowed in addition to CallRules.
  // `uses_landlock` is false in tests that imitate a kernel without it.
  static Result<CloneCalls> prepare(const Process& clone,
                                    std::vector<int> beyond = {},
                                    bool uses_landlock = true);

  Result<CallOutcome> call(RemoteAddr function,
                           std::span<const CallArgument> arguments,
                           std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] const MemoryReader& memory() const { return own_->memory(); }
  // Changes the clone's memory.
  Result<void> write(RemoteAddr at, std::span<const std::byte> bytes);
  // Opens a new pipe, for a function that writes to a path.
  Result<ClonePipe> open_pipe();

  // The contents of the file at descriptor 1 or 2, from `offset` on; at most kMostOutput bytes.
  [[nodiscard]] Result<std::string> output(int descriptor, std::size_t offset) const;
  [[nodiscard]] std::size_t output_bytes(int descriptor) const;

  [[nodiscard]] const CloneWalls& walls() const { return walls_; }

  static constexpr std::size_t kMostOutput = std::size_t{64} << 20;

 private:
  using End = CallOutcome::End;

  explicit CloneCalls(std::unique_ptr<OwnProcess> own) : own_(std::move(own)) {}

  Result<void> isolate(std::vector<int> beyond, bool uses_landlock);
  Result<void> give_descriptors();
  Result<ClonePipe> make_pipe();
  Result<CallOutcome> follow(const CallFrame& frame,
                             OwnStop stop,
                             std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] CallOutcome outcome_of(const OwnStop& stop, End end) const;
  // Decides about a signal: returns an outcome, or nothing if the clone should continue.
  std::optional<CallOutcome> judge_signal(const CallFrame& frame,
                                          const OwnStop& stop,
                                          std::optional<CallOutcome>& handled) const;

  std::unique_ptr<OwnProcess> own_;
  std::array<Fd, 3> files_;  // the files at its descriptors 0 to 2
  CloneWalls walls_;
};

}  // namespace heapattach
