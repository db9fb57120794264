#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/types.h>

#include "attach/memory_reader.h"
#include "attach/registers.h"
#include "inject/way_back.h"

namespace heapattach {

// The event of a thread that ran. After each but Ended it is stopped.
struct RemoteStop {
  enum class Kind : std::uint8_t {
    SystemCall,  // at the entry or exit of one
    Born,        // made the process or thread `other`, which is traced already
    Stopped,     // by our interrupt, or with its whole process by a stop signal
    Signal,      // `signal` is about to reach it, and is lost unless it is passed on
    Passing,     // anything else
    Ended,
  };
  Kind kind = Kind::Passing;
  int signal = 0;
  pid_t other = 0;
};

// The source of the signal that a thread has stopped for: sigaction(2).
struct SignalOrigin {
  int code = 0;        // si_code: above 0 if the kernel sent it
  pid_t sender = 0;    // for a signal that a process sent
  RemoteAddr address;  // for a signal that an instruction caused
};

// The system calls that change something in the target. The seam lets tests check that everything
// is restored when any one of them fails. The calling thread traces all threads named here, and
// they are stopped, except in wait().
class RemoteControl {
 public:
  RemoteControl(const RemoteControl&) = delete;
  RemoteControl& operator=(const RemoteControl&) = delete;
  virtual ~RemoteControl() = default;

  virtual Result<RawRegisters> registers(pid_t tid) = 0;
  virtual Result<void> set_registers(pid_t tid, const RawRegisters& values) = 0;
  // The mask it will have once it has returned from a call that changes the mask while it lasts.
  virtual Result<std::uint64_t> signal_mask(pid_t tid) = 0;
  virtual Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) = 0;
  virtual Result<RseqConfiguration> rseq(pid_t tid) = 0;
  // All registers beyond the general ones, in the form that the instruction xrstor takes.
  virtual Result<std::vector<std::byte>> extended_state(pid_t tid) = 0;
  virtual Result<void> set_extended_state(pid_t tid, std::span<const std::byte> values) = 0;
  virtual Result<SignalOrigin> signal_origin(pid_t tid) = 0;

  // The memory of the target as its threads see it.
  [[nodiscard]] virtual const MemoryReader& memory() const = 0;
  // Writes there, even where the target itself may not. `tid` is any of its threads.
  virtual Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) = 0;

  // Lets it run to its next system call, or on, delivering `signal` if that is not 0.
  virtual Result<void> run_to_call(pid_t tid, int signal) = 0;
  virtual Result<void> run_on(pid_t tid, int signal) = 0;
  virtual Result<void> interrupt(pid_t tid) = 0;
  // Timeout if it has not stopped by then.
  virtual Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) = 0;

  // Makes a process that the target made the OOM killer's first choice.
  virtual Result<void> offer_to_oom_killer(pid_t pid) = 0;
  virtual Result<void> detach(pid_t tid) = 0;
  virtual void kill(pid_t pid) noexcept = 0;

 protected:
  RemoteControl() = default;
};

}  // namespace heapattach
