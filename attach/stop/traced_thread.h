#pragma once

#include <optional>

#include "attach/stop/tracer.h"

namespace heapattach {

// Owns one seized thread. The destructor releases it, whatever it was doing: a signal held back by
// the stop is delivered, and an interrupted call continues. Construct it on the line after the
// thread was seized.
class TracedThread {
 public:
  enum class Phase : std::uint8_t {
    Running,  // as far as we know
    Stopped,  // until it is released
    Ended,
  };
  enum class Release : std::uint8_t {
    Detached,
    Rewound,     // detached, and its call continues
    LeftBehind,  // not stopped: only the end of the tracing thread can release it
    Nothing,     // it has ended
  };

  // `tracer` must outlive this.
  TracedThread(Tracer& tracer, pid_t tid) noexcept : tracer_(&tracer), tid_(tid) {}
  ~TracedThread() { release(); }
  TracedThread(TracedThread&& other) noexcept;
  TracedThread& operator=(TracedThread&& other) noexcept;
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;

  [[nodiscard]] pid_t tid() const noexcept { return tid_; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }

  Result<void> interrupt();
  // Processes the thread's latest event. Signals are delivered at once and the stop is requested
  // again, so that the thread ends up Stopped in user code or in a call, with no signal owed.
  Result<std::optional<TraceEvent>> poll();
  // For a first thread that has ended before the others; the kernel does not report its end.
  void mark_ended() noexcept { phase_ = Phase::Ended; }

  // The registers of a stopped thread. If `may_rewind` is set and the stop interrupted a call
  // without a timeout, the thread restarts that call on release.
  Result<RawRegisters> registers(bool may_rewind);

  Release release() noexcept;

 private:
  void look_whether_stopped() noexcept;
  [[nodiscard]] bool pay_rewind() noexcept;

  Tracer* tracer_;  // null after a move or a release
  pid_t tid_;
  Phase phase_ = Phase::Running;
  bool is_group_stop_ = false;  // its user stopped it
  int owed_signal_ = 0;
  std::optional<RawRegisters> interrupted_call_;
};

}  // namespace heapattach
