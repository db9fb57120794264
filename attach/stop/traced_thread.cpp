#include "attach/stop/traced_thread.h"

#include <utility>

#include "attach/stop/rewind.h"

namespace heapattach {

TracedThread::TracedThread(TracedThread&& other) noexcept
    : tracer_(std::exchange(other.tracer_, nullptr)),
      tid_(other.tid_),
      phase_(other.phase_),
      is_group_stop_(other.is_group_stop_),
      owed_signal_(std::exchange(other.owed_signal_, 0)),
      interrupted_call_(std::exchange(other.interrupted_call_, std::nullopt)) {}

TracedThread& TracedThread::operator=(TracedThread&& other) noexcept {
  if (this != &other) {
    release();
    tracer_ = std::exchange(other.tracer_, nullptr);
    tid_ = other.tid_;
    phase_ = other.phase_;
    is_group_stop_ = other.is_group_stop_;
    owed_signal_ = std::exchange(other.owed_signal_, 0);
    interrupted_call_ = std::exchange(other.interrupted_call_, std::nullopt);
  }
  return *this;
}

Result<void> TracedThread::interrupt() {
  auto asked = tracer_->interrupt(tid_);
  // poll will report its end, as for any other thread.
  if (!asked && asked.error().kind == ErrorKind::Gone) return {};
  return asked;
}

Result<std::optional<TraceEvent>> TracedThread::poll() {
  const auto event = HA_TRY(tracer_->poll(tid_));
  if (!event) return event;
  switch (event->kind) {
    case TraceEvent::Kind::Ended: phase_ = Phase::Ended; return event;
    case TraceEvent::Kind::Stopped:
      is_group_stop_ = event->signal != 0;
      phase_ = Phase::Stopped;
      return event;
    case TraceEvent::Kind::Executed: phase_ = Phase::Stopped; return event;
    case TraceEvent::Kind::Signal:
    case TraceEvent::Kind::Cloned:
    case TraceEvent::Kind::Passing: break;
  }
  // It has stopped, but where it must not be kept: with a signal half delivered or inside clone.
  // Each event cancels our request to stop (ptrace_stop clears JOBCTL_TRAP_STOP), so ask again
  // before it runs on. The kernel then stops it before the next signal, so a storm of signals
  // cannot keep it running.
  phase_ = Phase::Stopped;
  owed_signal_ = event->signal;
  HA_TRY(interrupt());
  tracer_->resume(tid_, std::exchange(owed_signal_, 0));
  phase_ = Phase::Running;
  return event;
}

Result<RawRegisters> TracedThread::registers(bool may_rewind) {
  const RawRegisters found = HA_TRY(tracer_->registers(tid_));
  // A call that the user's own stop interrupted returns EINTR without us, too.
  if (may_rewind && !is_group_stop_ && is_rewindable(found) &&
      tracer_->is_after_syscall(tid_, instruction_pointer(found))) {
    interrupted_call_ = found;
  }
  return found;
}

// Last of all, right before the detach: a signal that comes between this check and the detach is
// delivered, but the call does not return for it. That window is microseconds wide.
bool TracedThread::pay_rewind() noexcept {
  if (!interrupted_call_) return false;
  const auto again = rewound(*interrupted_call_, tracer_->deliverable_signals(tid_));
  return again && tracer_->set_registers(tid_, *again).has_value();
}

// Detaching a thread that stopped unseen would swallow the signal it may have stopped for.
void TracedThread::look_whether_stopped() noexcept {
  const auto event = tracer_->poll(tid_);
  if (!event || !*event) return;
  phase_ = (*event)->kind == TraceEvent::Kind::Ended ? Phase::Ended : Phase::Stopped;
  if ((*event)->kind == TraceEvent::Kind::Signal) owed_signal_ = (*event)->signal;
}

TracedThread::Release TracedThread::release() noexcept {
  if (tracer_ == nullptr) return Release::Nothing;
  if (phase_ == Phase::Running) look_whether_stopped();
  const bool is_rewound = phase_ == Phase::Stopped && pay_rewind();
  Tracer& tracer = *std::exchange(tracer_, nullptr);
  if (phase_ == Phase::Ended) return Release::Nothing;
  if (phase_ == Phase::Running) return Release::LeftBehind;
  if (!tracer.detach(tid_, std::exchange(owed_signal_, 0))) return Release::LeftBehind;
  return is_rewound ? Release::Rewound : Release::Detached;
}

}  // namespace heapattach
