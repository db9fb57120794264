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
    Crashed,   // by signal `number`, which it caused or sent itself
    Exited,    // with status `number`
    Executed,  // it tried to replace its program (execve)
    TimedOut,
    Killed,  // by signal `number` from outside
  };
  End end = End::Returned;
  std::uint64_t value = 0;  // the function's return value
  int number = 0;
  RemoteAddr fault;        // the address that it could not access, if that caused the crash
  bool is_shared = false;  // `fault` is in shared memory, to which the clone may not write
  pid_t thread = 0;        // the thread in which the call ended
  std::optional<RawRegisters> where;  // the registers of that thread
  std::vector<std::byte> stack;       // a part of its stack, from the stack pointer upwards
  int refused_processes = 0;          // the number of processes that it tried to start
  std::vector<int> refused_calls;     // forbidden system calls that it tried, each once
};

// A pipe for a function that writes to a path. The path is in /proc, so it needs /proc mounted.
struct ClonePipe {
  std::string path;
  int descriptor = -1;  // the writing end, in the clone
  Fd reading_end;
};

// Calls the target's functions in a clone. A function has the target's memory, but no descriptors
// except an empty input and two output files of ours, no other threads, no other process to signal
// or trace, no shared memory, and only the system calls that CallRules allows. It can still read
// files.
//
// A function runs on the clone's only thread and on its existing stack, below the data in use.
// Collectors and interpreters look for their data between the known start of the stack and the
// stack pointer, so they would crash on another stack.
class CloneCalls {
 public:
  // `clone` must outlive the result, and cannot be used for anything else. An error means that it
  // cannot be isolated. `beyond` lists system calls that are allowed in addition to CallRules.
  // `uses_landlock` is false in tests that imitate a kernel without Landlock.
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
  // Decides about a signal. Returns an outcome, or nothing if the clone should continue.
  std::optional<CallOutcome> judge_signal(const CallFrame& frame,
                                          const OwnStop& stop,
                                          std::optional<CallOutcome>& handled) const;

  std::unique_ptr<OwnProcess> own_;
  std::array<Fd, 3> files_;  // the files at the clone's descriptors 0 to 2
  CloneWalls walls_;
};

}  // namespace heapattach
