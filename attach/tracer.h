#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <sys/types.h>

#include "attach/process.h"
#include "attach/registers.h"
#include "attach/result.h"
#include "attach/thread_state.h"

namespace heapattach {

// An event of a traced thread. After each but Ended the thread is stopped until it is resumed or
// detached.
struct TraceEvent {
  enum class Kind : std::uint8_t {
    Stopped,   // by our interrupt, or with its whole process by a stop signal
    Signal,    // `signal` is about to reach it, and is lost unless it is passed on
    Cloned,    // made the thread `other`, which is traced already and stops by itself
    Executed,  // began another program
    Passing,   // anything else
    Ended,     // exited or was killed
  };
  Kind kind = Kind::Passing;
  int signal = 0;
  pid_t other = 0;  // 0 if unknown
};

// The system calls that stop and release the threads of one process. The seam lets tests run a
// freeze against threads that appear, vanish or refuse at a chosen moment.
class Tracer {
 public:
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  virtual ~Tracer() = default;

  virtual Result<ThreadListing> threads() = 0;
  // Gone if the thread is.
  virtual Result<ThreadState> state(pid_t tid) = 0;

  // Begins tracing without stopping. Gone if the thread has ended or is about to; Denied, Traced.
  virtual Result<void> seize(pid_t tid) = 0;
  // Asks a seized thread to stop. Another event may come first and cancels the request. Gone if it
  // has ended.
  virtual Result<void> interrupt(pid_t tid) = 0;
  // The thread's event since the last call, without waiting for one.
  virtual Result<std::optional<TraceEvent>> poll(pid_t tid) = 0;
  // Lets a thread run on after an event, delivering `signal` if not 0. A dead thread is fine.
  virtual void resume(pid_t tid, int signal) noexcept = 0;
  // The same, and ends tracing. False if that was not possible: it is not stopped, or dead.
  virtual bool detach(pid_t tid, int signal) noexcept = 0;

  // Requires a stopped thread. Gone if it was killed.
  virtual Result<RawRegisters> registers(pid_t tid) = 0;
  virtual Result<void> set_registers(pid_t tid, const RawRegisters& values) = 0;
  // Whether the two bytes before `rip` are the instruction `syscall`.
  virtual bool is_after_syscall(pid_t tid, RemoteAddr rip) = 0;
  // Signals that will reach it as soon as it runs; all signals where this is unknown.
  virtual std::uint64_t deliverable_signals(pid_t tid) = 0;
  // For a thread that blocks in the kernel, where the kernel shows it.
  virtual std::optional<RemoteAddr> blocked_stack_pointer(pid_t tid) = 0;

  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  // Gives the target's threads time to stop; more for higher `idle_rounds`.
  virtual void back_off(int idle_rounds) = 0;

 protected:
  Tracer() = default;
};

}  // namespace heapattach
