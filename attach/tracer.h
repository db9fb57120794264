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

// What a traced thread has done. After each but Ended it stands still until it is resumed or
// detached.
struct TraceEvent {
  enum class Kind : std::uint8_t {
    Stopped,   // by our interrupt, or with its whole process by a stop signal
    Signal,    // `signal` is about to reach it, and is lost unless it is handed on
    Cloned,    // made the thread `other`, which is traced already and stops by itself
    Executed,  // runs another program now
    Passing,   // anything else
    Ended,     // exited or was killed
  };
  Kind kind = Kind::Passing;
  int signal = 0;
  pid_t other = 0;  // 0 if unknown
};

// The system calls that stop and release the threads of one process, behind one seam so that a
// freeze can be tested against threads that appear, vanish or refuse at a chosen moment.
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
  // Asks a seized thread to stop. Any other event may come first, and then takes the request's
  // place. Gone if it has ended.
  virtual Result<void> interrupt(pid_t tid) = 0;
  // What the thread has done since the last call, without waiting for it.
  virtual Result<std::optional<TraceEvent>> poll(pid_t tid) = 0;
  // Lets a thread run on after an event, delivering `signal` if not 0. A dead thread is fine.
  virtual void resume(pid_t tid, int signal) noexcept = 0;
  // The same, and ends tracing. False if it was not possible: it does not stand still, or is dead.
  virtual bool detach(pid_t tid, int signal) noexcept = 0;

  // Of a thread that stands still. Gone if it was killed.
  virtual Result<RawRegisters> registers(pid_t tid) = 0;
  virtual Result<void> set_registers(pid_t tid, const RawRegisters& values) = 0;
  // Whether the two bytes before `rip` are the instruction `syscall`.
  virtual bool is_behind_syscall(pid_t tid, RemoteAddr rip) = 0;
  // Signals that will reach it as soon as it runs; all of them where this cannot be found out.
  virtual std::uint64_t deliverable_signals(pid_t tid) = 0;
  // Of a thread that blocks in the kernel, where the kernel tells.
  virtual std::optional<RemoteAddr> blocked_stack_pointer(pid_t tid) = 0;

  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  // Gives the target's threads a moment to stop; longer moments for higher `idle_rounds`.
  virtual void rest(int idle_rounds) = 0;

 protected:
  Tracer() = default;
};

}  // namespace heapattach
