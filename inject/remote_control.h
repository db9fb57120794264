#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

#include "attach/arch/registers.h"
#include "attach/memory/memory_reader.h"
#include "inject/way_back.h"

namespace heapattach {

// An event of a running thread. After every event except Ended, the thread is stopped.
struct RemoteStop {
  enum class Kind : std::uint8_t {
    SystemCall,  // it is at the entry or exit of a system call
    Born,        // it has made the process or thread `other`, which is already traced
    Stopped,     // our interrupt, or a stop signal to the whole process, has stopped it
    Signal,      // `signal` is about to be delivered, and is lost unless we pass it on
    Passing,     // anything else
    Ended,       // `signal` has ended it; 0: it has ended by itself, or the signal is unknown
  };
  Kind kind = Kind::Passing;
  int signal = 0;
  pid_t other = 0;
};

// Whether the kernel hands a thread's system calls to the program, as SIGSYS
// (PR_SET_SYSCALL_USER_DISPATCH in prctl(2)). Kernels before 6.4 cannot tell.
enum class CallDispatch : std::uint8_t { Off, On, Unknown };

// The source of the signal at which a thread has stopped, as in sigaction(2).
struct SignalOrigin {
  int code = 0;        // si_code: above 0 if the kernel sent it
  pid_t sender = 0;    // the process that sent it, if any
  RemoteAddr address;  // the faulting address, if an instruction caused it
};

// The instructions of a seccomp filter.
using SeccompFilter = std::vector<sock_filter>;

// The operations on a target's threads, among them all that change something in the target. Because
// this is an interface, tests can check that everything is restored when any operation fails. The
// calling thread must trace the threads that it passes, and they must be stopped, except in wait().
class RemoteControl {
 public:
  RemoteControl(const RemoteControl&) = delete;
  RemoteControl& operator=(const RemoteControl&) = delete;
  virtual ~RemoteControl() = default;

  virtual Result<RawRegisters> registers(pid_t tid) = 0;
  virtual Result<void> set_registers(pid_t tid, const RawRegisters& values) = 0;
  // The thread's signal mask. If the thread is in a call that changes the mask temporarily, this is
  // the mask after that call.
  virtual Result<std::uint64_t> signal_mask(pid_t tid) = 0;
  virtual Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) = 0;
  virtual Result<RseqConfiguration> rseq(pid_t tid) = 0;
  virtual Result<CallDispatch> call_dispatch(pid_t tid) = 0;
  // The seccomp filters that apply to the thread. Returns Denied if we may not read them.
  virtual Result<std::vector<SeccompFilter>> filters(pid_t tid) = 0;
  // All registers beyond the general ones, in the format of the instruction xrstor.
  virtual Result<std::vector<std::byte>> extended_state(pid_t tid) = 0;
  // Whether the thread has values in vector registers that a system call does not preserve.
  virtual Result<bool> has_wide_vectors(pid_t tid) = 0;
  virtual Result<void> set_extended_state(pid_t tid, std::span<const std::byte> values) = 0;
  virtual Result<SignalOrigin> signal_origin(pid_t tid) = 0;

  // The memory of the target as its threads see it.
  [[nodiscard]] virtual const MemoryReader& memory() const = 0;
  // Writes to the target's memory, even where the target itself may not. `tid` is any of its
  // threads.
  virtual Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) = 0;

  // Resumes a thread until the entry or exit of its next system call, delivering `signal` unless it
  // is 0.
  virtual Result<void> run_to_call(pid_t tid, int signal) = 0;
  virtual Result<void> run_on(pid_t tid, int signal) = 0;
  virtual Result<void> interrupt(pid_t tid) = 0;
  // Waits until the thread stops. Returns Timeout if it has not stopped by the deadline.
  virtual Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) = 0;

  // Makes the OOM killer prefer a process that the target created.
  virtual Result<void> offer_to_oom_killer(pid_t pid) = 0;
  virtual Result<void> detach(pid_t tid) = 0;
  // Kills a process. If we trace it, returns once it is dead.
  virtual void kill(pid_t pid) noexcept = 0;

 protected:
  RemoteControl() = default;
};

}  // namespace heapattach
