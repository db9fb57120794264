#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attach/arch/registers.h"
#include "attach/memory/live_memory.h"
#include "inject/call_rules.h"
#include "inject/called_files.h"

namespace heapattach {

// The reason why a running clone has stopped.
struct OwnStop {
  enum class Kind : std::uint8_t {
    Signal,        // `signal` is about to be delivered
    TriesProcess,  // it tries to start a process; refused
    TriesProgram,  // it tries to replace its program (execve)
    TriesCall,     // it tries to make system call `call`; refused
    Exited,        // it has exited with `status`
    Killed,        // `signal` has killed it
    TimedOut,      // it was still running at the deadline, and was stopped
  };
  Kind kind = Kind::Signal;
  int signal = 0;
  int status = 0;
  bool is_fault = false;  // an instruction of the thread caused the signal
  RemoteAddr fault;       // the address that it accessed, if it was a memory access
  int call = 0;
  pid_t thread = 0;  // the thread that stopped
};

// A clone that runs for us. Nothing has to be restored in it, and it is killed with all its threads
// when this object is destroyed or we die. Only the thread that traces the clone may use this.
class OwnProcess {
 public:
  // `clone` is stopped after a system call instruction, and must outlive the result.
  static Result<std::unique_ptr<OwnProcess>> take(const Process& clone);
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  [[nodiscard]] const Process& process() const { return clone_; }
  [[nodiscard]] const MemoryReader& memory() const { return memory_; }
  // The clone's registers when it was taken over. Nothing below the stack pointer is in use.
  [[nodiscard]] const RawRegisters& found() const { return found_; }
  static Result<RawRegisters> registers(pid_t thread);
  Result<void> write(RemoteAddr at, std::span<const std::byte> bytes) const;
  // The size of scratch(), an area for the input of our system calls, on the clone's stack, below
  // the data in use.
  static constexpr std::uint64_t kScratchBytes = 4096;
  [[nodiscard]] RemoteAddr scratch() const {
    return {(stack_pointer(found_).value - kScratchBytes) & ~std::uint64_t{15}};
  }

  // Makes one system call in the clone's first thread. Returns the result, or minus an errno. If
  // this or another step before run() fails, explain() makes the error for the user: it says how
  // the clone ended, if the clone was killed.
  Result<std::int64_t> system_call(long number, std::span<const std::uint64_t> arguments);
  [[nodiscard]] Error explain(Error error) const;
  // Sets the rules for the calls that the clone's filter stops from now on.
  void judge_by(CallRules rules);
  // Sets the registers of the first thread, lets the clone run, and returns the next event.
  Result<OwnStop> run(const RawRegisters& from, std::chrono::steady_clock::time_point deadline);
  // Continues after a stop, delivering `signal` if it is not 0.
  Result<OwnStop> go_on(pid_t thread, int signal, std::chrono::steady_clock::time_point deadline);

 private:
  OwnProcess(const Process& clone, Fd mem, Fd mem_for_writing);

  Result<void> begin();
  Result<OwnStop> wait_for_news(std::chrono::steady_clock::time_point deadline);
  std::optional<OwnStop> look_at(pid_t thread, int status);
  std::optional<OwnStop> look_at_filtered(pid_t thread) const;
  [[nodiscard]] bool may_call(const RawRegisters& at) const;
  bool keep_futex(pid_t thread, const RawRegisters& at) const;
  void add_thread(pid_t thread);
  void find_threads();
  void stop_all();

  const Process& clone_;
  LiveMemory memory_;
  Fd mem_;
  CallRules rules_;
  std::optional<FilesOfClone> files_;  // set together with `rules_`
  RawRegisters found_{};
  std::optional<int> end_;      // the first thread's wait status, if it ended during system_call()
  std::vector<pid_t> threads_;  // live ones, the first thread first
};

}  // namespace heapattach
