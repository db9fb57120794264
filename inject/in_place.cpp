#include "inject/in_place.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "inject/arch/stub.h"
#include "inject/how_it_ended.h"
#include "inject/status_signals.h"
#include "inject/way_back.h"

// The steps, and what happens if we die after each step:
//
//   the stub is written           nothing refers to it
//   the frame is written          memory below the red zone is unused
//   the registers enter the stub  the function is called; the thread restores errno and its vector
//                                 registers, makes a system call, sets its mask, loads every
//                                 register, and is back where it was
//   it runs in the function       the same. Signals are passed on: the target's collector may want
//                                 to stop this thread. Each system call stops it for us, so that we
//                                 see the one after the function, and those that would end the
//                                 process
//   it is at the call after       the same
//   the function; from here on    the same, as described in injection.cpp
//
// After a crash, the thread is stopped before the signal that would end the process. If we died at
// that point, the process would end: the function has crashed, and only we could take the thread
// out of it.

namespace heapattach {

namespace {

using Kind = RemoteStop::Kind;
using End = InPlaceOutcome::End;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};
constexpr std::chrono::milliseconds kBetweenQuestions{100};
constexpr std::chrono::seconds kToStop{5};
constexpr int kSentByThread = -6;  // SI_TKILL: from raise() and abort()

bool is_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
         signal == SIGTRAP || signal == SIGSYS;
}

class InPlace {
 public:
  InPlace(RemoteControl& control, const Borrowed& thread, const InPlaceCall& call)
      : control_(control),
        thread_(thread),
        call_(call),
        image_(Stub::function_image(thread.stub, thread.way_back, thread.mask)),
        after_(thread.stub + Stub::function_bytes() + Stub::call_entry() +
               call_instruction().size()) {}
  ~InPlace() { static_cast<void>(put_back()); }
  InPlace(const InPlace&) = delete;
  InPlace& operator=(const InPlace&) = delete;

  Result<InPlaceOutcome> run(const MemoryMap& map) {
    HA_TRY(check_padding());
    extended_ = HA_TRY(control_.extended_state(thread_.tid));
    frame_ = HA_TRY(make_in_place_frame(thread_.found, thread_.stub, call_.function, extended_));
    if (!has_room(map, thread_.found, frame_)) {
      return Error{ErrorKind::Impossible, "its stack has too little room"};
    }
    is_written_ = true;
    HA_TRY(control_.write(thread_.tid, thread_.stub, image_));
    HA_TRY(control_.write(thread_.tid, frame_.at, frame_.bytes));
    is_entered_ = true;
    HA_TRY(control_.set_registers(thread_.tid, frame_.registers));
    HA_TRY(follow());
    if (outcome_.end == End::Returned) HA_TRY(come_past_call());
    HA_TRY(put_back());
    return outcome_;
  }

 private:
  // Checks that the padding is empty. If there are bytes of another tool, a thread may need them to
  // return to its code.
  Result<void> check_padding() const {
    std::vector<std::byte> there(image_.size());
    HA_TRY(control_.memory().read(thread_.stub, there));
    const bool is_zero =
        std::all_of(there.begin(), there.end(), [](std::byte b) { return b == std::byte{0}; });
    if (is_zero) return {};
    return Error{ErrorKind::Impossible,
                 fmt::format("the padding at {} is now in use", thread_.stub)};
  }

  // Lets the thread run to its next stop. Meanwhile checks whether to give up.
  Result<std::optional<RemoteStop>> next(bool to_call, int signal, Clock::time_point deadline) {
    HA_TRY(to_call ? control_.run_to_call(thread_.tid, signal)
                   : control_.run_on(thread_.tid, signal));
    is_under_way_ = true;
    is_running_ = true;
    return wait(deadline);
  }
  // Waits for the thread's next stop. Returns nothing if it still runs when we give up.
  Result<std::optional<RemoteStop>> wait(Clock::time_point deadline) {
    for (;;) {
      const bool is_over = Clock::now() >= deadline;
      if (is_over || (call_.is_given_up && call_.is_given_up())) return std::optional<RemoteStop>();
      auto stop = control_.wait(thread_.tid, std::min(deadline, Clock::now() + kBetweenQuestions));
      if (!stop && stop.error().kind == ErrorKind::Timeout) continue;
      return std::optional<RemoteStop>(taken(HA_TRY(std::move(stop))));
    }
  }
  void note_end(const RemoteStop& stop) {
    outcome_.end = End::Vanished;
    outcome_.number = stop.signal;
  }
  // Releases a thread that the function has started.
  void release_thread(pid_t other) {
    if (other > 0 && control_.wait(other, Clock::now() + kToStop)) {
      static_cast<void>(control_.detach(other));
    }
  }

  // Lets the thread run until it is at the system call after the function, or until the call has
  // ended in another way.
  Result<void> follow() {
    int signal = 0;
    for (;;) {
      const auto stop = HA_TRY(next(true, std::exchange(signal, 0), call_.deadline));
      if (!stop) return leave_alone();
      bool is_over = false;
      switch (stop->kind) {
        case Kind::Ended: note_end(*stop); return {};
        case Kind::Signal: is_over = HA_TRY(judge_signal(stop->signal, signal)); break;
        case Kind::SystemCall: is_over = HA_TRY(judge_call()); break;
        default: break;
      }
      if (is_over) return {};
    }
  }

  // Returns true if the signal has ended the function. Otherwise `hand_on` is the signal to
  // deliver.
  Result<bool> judge_signal(int signal, int& hand_on) {
    const SignalOrigin origin = HA_TRY(control_.signal_origin(thread_.tid));
    const RawRegisters at = HA_TRY(control_.registers(thread_.tid));
    const bool is_crash = is_fault(signal) && origin.code > 0;
    const bool is_abort = signal == SIGABRT && origin.code == kSentByThread;
    // A collector may protect pages, and this signal tells it of writes to them.
    const bool is_handled = has_signal(call_.handled_signals, signal);
    const bool may_be_meant = signal == SIGSEGV && origin.code == SEGV_ACCERR && is_handled &&
                              std::pair{instruction_pointer(at), origin.address} != last_fault_;
    if (may_be_meant) last_fault_ = {instruction_pointer(at), origin.address};
    hand_on = signal;
    if (!is_abort && (!is_crash || may_be_meant)) return false;
    outcome_.end = End::Crashed;
    outcome_.number = signal;
    outcome_.fault = origin.address;
    outcome_.where = at;
    HA_TRY(take_out());
    return true;
  }

  Result<bool> judge_call() {
    RawRegisters at = HA_TRY(control_.registers(thread_.tid));
    if (instruction_pointer(at) == after_) {
      outcome_.value = Stub::function_result(at);
      return true;
    }
    if (!is_at_call_entry(at)) return false;
    switch (call_number(at).value_or(-1)) {
      case SYS_exit:
      case SYS_exit_group: outcome_.end = End::Exits; break;
      case SYS_execve:
      case SYS_execveat: outcome_.end = End::Executes; break;
      default: return false;
    }
    outcome_.number = static_cast<int>(call_argument(at, 0));
    outcome_.where = at;
    leave_call(at);
    HA_TRY(control_.set_registers(thread_.tid, at));
    HA_TRY(take_out());
    return true;
  }

  // Takes the thread from a stop in the function to a stop of the kind in which it was found,
  // before it runs another instruction. Restores the vector registers and errno, as the stub would
  // have done.
  Result<void> take_out() {
    HA_TRY(control_.set_signal_mask(thread_.tid, kAllSignals));
    is_blocked_ = true;
    HA_TRY(stop_here());
    HA_TRY(control_.set_extended_state(thread_.tid, extended_));
    const auto where = control_.memory().read_as<std::uint64_t>(frame_.saved_errno);
    const auto what = control_.memory().read_as<std::int32_t>(frame_.saved_errno + sizeof(long));
    if (!where || !what || *where == 0) return {};
    return control_.write(thread_.tid, {*where}, std::as_bytes(std::span(&*what, 1)));
  }

  // Lets the thread run to its next stop of `kind`. All signals are blocked except those that stop
  // the process, which are passed on. If another event comes first, it cancels the stop that we
  // requested, so we request it again.
  Result<void> come_to(Kind kind) {
    const auto deadline = Clock::now() + kToStop;
    int signal = 0;
    for (;;) {
      if (kind == Kind::Stopped) HA_TRY(control_.interrupt(thread_.tid));
      const auto stop = HA_TRY(next(kind == Kind::SystemCall, signal, deadline));
      if (!stop) return Error{ErrorKind::Timeout, "it did not stop"};
      if (stop->kind == Kind::Ended) return ended_for_us(*stop);
      if (stop->kind == kind) return {};
      signal = stop->kind == Kind::Signal ? stop->signal : 0;
    }
  }
  Result<void> stop_here() {
    HA_TRY(come_to(Kind::Stopped));
    is_under_way_ = false;
    return {};
  }

  // Takes the thread back from the entry of the system call after the function, as in
  // injection.cpp.
  Result<void> come_past_call() {
    is_blocked_ = true;
    HA_TRY(control_.set_signal_mask(thread_.tid, kAllSignals));
    HA_TRY(come_to(Kind::SystemCall));
    return stop_here();
  }

  // Lets the thread continue in the function. The stub then stays, unless the function returns at
  // the last moment.
  Result<void> leave_alone() {
    const auto deadline = Clock::now() + kToStop;
    for (;;) {
      HA_TRY(control_.interrupt(thread_.tid));
      const auto stop = HA_TRY(wait_to_the_end(deadline));
      if (stop && stop->kind == Kind::SystemCall && HA_TRY(judge_call())) return {};
      if (stop && stop->kind == Kind::Ended) {
        note_end(*stop);
        return {};
      }
      if (!stop || stop->kind == Kind::Stopped) break;
      HA_TRY(control_.run_to_call(thread_.tid, stop->kind == Kind::Signal ? stop->signal : 0));
      is_running_ = true;
    }
    outcome_.end = End::LeftAlone;
    if (!is_running_) outcome_.where = HA_TRY(control_.registers(thread_.tid));
    return {};
  }
  Result<std::optional<RemoteStop>> wait_to_the_end(Clock::time_point deadline) {
    auto stop = control_.wait(thread_.tid, deadline);
    if (!stop && stop.error().kind == ErrorKind::Timeout) return std::optional<RemoteStop>();
    return std::optional<RemoteStop>(taken(HA_TRY(std::move(stop))));
  }
  RemoteStop taken(RemoteStop stop) {
    is_running_ = stop.kind == Kind::Ended;
    if (stop.kind == Kind::Born) release_thread(stop.other);
    return stop;
  }

  // Undoes everything in reverse order. Does not touch a thread that is still in the function or
  // the stub, or out of reach: such a thread returns to its code by itself.
  Result<void> put_back() {
    if (is_running_) return {};
    if (std::exchange(is_under_way_, false)) {
      is_running_ = true;
      return control_.detach(thread_.tid);
    }
    if (is_blocked_ || is_entered_) {
      HA_TRY(control_.set_signal_mask(thread_.tid, thread_.mask));
      is_blocked_ = false;
    }
    if (is_entered_) HA_TRY(control_.set_registers(thread_.tid, after_borrowing(thread_.found)));
    is_entered_ = false;
    const std::vector<std::byte> zeros(image_.size());
    if (is_written_) HA_TRY(control_.write(thread_.tid, thread_.stub, zeros));
    is_written_ = false;
    return {};
  }

  RemoteControl& control_;
  const Borrowed& thread_;
  const InPlaceCall& call_;
  const std::vector<std::byte> image_;
  const RemoteAddr after_;  // the system call after the function
  std::vector<std::byte> extended_;
  InPlaceFrame frame_;
  InPlaceOutcome outcome_;
  // The last fault that was left to a handler: the address of the instruction, and the address that
  // it accessed.
  std::pair<RemoteAddr, RemoteAddr> last_fault_;
  bool is_written_ = false;
  bool is_entered_ = false;
  bool is_blocked_ = false;
  bool is_under_way_ = false;  // in the function or the stub, where it may not be restored yet
  bool is_running_ = false;    // out of reach: running, or gone
};

}  // namespace

std::size_t in_place_bytes() {
  return Stub::function_bytes() + Stub::size_bytes();
}

Result<InPlaceOutcome> call_in_place(RemoteControl& control,
                                     const Borrowed& thread,
                                     const MemoryMap& map,
                                     const InPlaceCall& call) {
  InPlace calling(control, thread, call);
  return calling.run(map);
}

}  // namespace heapattach
