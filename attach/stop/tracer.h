#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "attach/arch/registers.h"
#include "attach/base/result.h"
#include "attach/process/process.h"
#include "attach/process/thread_state.h"

namespace heapattach {

// An event of a traced thread. After every event except Ended, the thread is stopped until it is
// resumed or detached.
struct TraceEvent {
  enum class Kind : std::uint8_t {
    Stopped,   // by our interrupt, or by a stop signal to the whole process
    Signal,    // `signal` is about to be delivered, and is lost unless passed on
    Cloned,    // created the thread `other`, which is already traced and stops by itself
    Executed,  // executed another program
    Passing,   // anything else
    Ended,     // exited or was killed
  };
  Kind kind = Kind::Passing;
  int signal = 0;
  pid_t other = 0;  // 0 if unknown
};

// The system calls that stop and release the threads of one process. The interface lets tests run a
// freeze against threads that appear, vanish or refuse at a chosen moment.
class Tracer {
 public:
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  virtual ~Tracer() = default;

  virtual Result<ThreadListing> threads() = 0;
  // Gone if the thread has ended.
  virtual Result<ThreadState> state(pid_t tid) = 0;

  // Begins tracing without stopping. Gone if the thread has ended or is about to; Denied, Traced.
  virtual Result<void> seize(pid_t tid) = 0;
  // Asks a seized thread to stop. Another event may come first and cancels the request. Gone if it
  // has ended.
  virtual Result<void> interrupt(pid_t tid) = 0;
  // The thread's event since the last call, if any. Does not wait for one.
  virtual Result<std::optional<TraceEvent>> poll(pid_t tid) = 0;
  // Resumes a thread after an event, delivering `signal` unless it is 0. Does nothing if the thread
  // is dead.
  virtual void resume(pid_t tid, int signal) noexcept = 0;
  // Resumes the thread and stops tracing it. Returns false if the thread is not stopped or is dead.
  virtual bool detach(pid_t tid, int signal) noexcept = 0;

  // Requires a stopped thread. Gone if it was killed.
  virtual Result<RawRegisters> registers(pid_t tid) = 0;
  // The words of the thread's vector and floating-point registers; empty if there are none.
  virtual std::vector<std::uint64_t> vector_registers(pid_t) { return {}; }
  virtual Result<void> set_registers(pid_t tid, const RawRegisters& values) = 0;
  // Whether the instruction before `at` makes system calls.
  virtual bool is_after_syscall(pid_t tid, RemoteAddr at) = 0;
  // The signals that will be delivered as soon as the thread runs; all signals if unknown.
  virtual std::uint64_t deliverable_signals(pid_t tid) = 0;
  // For a thread that is blocked in the kernel; none if the kernel does not report it.
  virtual std::optional<RemoteAddr> blocked_stack_pointer(pid_t tid) = 0;

  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
  // Gives the target's threads time to stop; more for higher `idle_rounds`.
  virtual void back_off(int idle_rounds) = 0;

 protected:
  Tracer() = default;
};

}  // namespace heapattach
