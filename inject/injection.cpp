#include "inject/injection.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "inject/how_it_ended.h"
#include "inject/way_back.h"

// The steps, and what happens if we die after each step:
//
//   the stub is written           nothing refers to it
//   the registers enter it        the thread makes the call and returns by itself; signals that
//                                 come meanwhile are handled on top of it
//   all signals are blocked       the same; the stub sets the mask. This comes after the registers:
//                                 in the reverse order, a thread that never enters the stub would
//                                 keep the mask. SIGSYS is not blocked: the kernel sends it if
//                                 system calls are dispatched to the program
//                                 (PR_SET_SYSCALL_USER_DISPATCH; kernels before 6.4 show that in
//                                 no other way). If it were blocked, the kernel would reset the
//                                 program's handler
//   it is at the call             the same
//   the call is made              the same; a process it has made exits by itself
//   it is asked to stop after     the same
//   the call, and runs on
//   it is after the call          the same. It could run to the stub's end, but each stop costs a
//                                 turn on a processor, and it is in the right kind of stop here
//   its mask is restored          the same
//   its registers are restored    as after any freeze: the kernel finds the thread in the stop that
//                                 it was in, with the number and result of its interrupted call,
//                                 and decides whether the call continues or returns EINTR for a
//                                 signal. Only the kernel can: that is why the stub's own end,
//                                 which always continues the call, is only for the case of our
//                                 death. On aarch64 the kernel cannot, either (way_back.cpp)
//   the padding is zeroed         nothing is left. Before this, only the padding is

namespace heapattach {

namespace {

using Kind = RemoteStop::Kind;

constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};
constexpr std::uint64_t kSigsys = std::uint64_t{1} << (SIGSYS - 1);
constexpr int kUserDispatch = 2;  // SYS_USER_DISPATCH: the si_code of such a SIGSYS

class Injection {
 public:
  Injection(RemoteControl& control, const Borrowed& thread, const RemoteCall& call)
      : control_(control),
        thread_(thread),
        call_(call),
        image_(Stub::image(
            thread.stub, thread.way_back, thread.mask, call.clone_seconds, call.name)) {}
  ~Injection() { static_cast<void>(put_back()); }
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;

  Result<CallResult> run() {
    HA_TRY(check_padding());
    is_written_ = true;
    HA_TRY(control_.write(thread_.tid, thread_.stub, image_));
    const std::size_t entry = call_.makes_process ? Stub::clone_entry() : Stub::call_entry();
    is_entered_ = true;
    HA_TRY(control_.set_registers(
        thread_.tid, entering(thread_.found, thread_.stub + entry, call_.number, call_.arguments)));
    is_blocked_ = true;
    HA_TRY(control_.set_signal_mask(thread_.tid, (kAllSignals & ~kSigsys) | thread_.mask));
    HA_TRY(run_past_call());
    HA_TRY(put_back());
    return result_;
  }
  // The process that the call made, even if a later step failed; 0 if it made none.
  [[nodiscard]] pid_t born() const { return result_.born; }

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

  // Lets the thread run to its next stop that is not a signal. All signals are blocked except those
  // that stop the process and SIGSYS, which are delivered.
  Result<RemoteStop> run(bool to_call) {
    int signal = 0;
    for (;;) {
      HA_TRY(to_call ? control_.run_to_call(thread_.tid, signal)
                     : control_.run_on(thread_.tid, signal));
      is_under_way_ = true;
      is_running_ = true;
      const RemoteStop stop = HA_TRY(control_.wait(thread_.tid, call_.deadline));
      is_running_ = stop.kind == Kind::Ended;
      if (stop.kind == Kind::Ended) return ended_for_us(stop);
      if (stop.kind == Kind::Born) result_.born = stop.other;
      if (stop.kind != Kind::Signal) return stop;
      if (HA_TRY(is_call_dispatched(stop))) {
        HA_TRY(stop_before_delivery());
        return Error{ErrorKind::Impossible, std::string(kDispatchedCalls)};
      }
      signal = stop.signal;
    }
  }

  Result<bool> is_call_dispatched(const RemoteStop& stop) {
    if (stop.signal != SIGSYS) return false;
    const SignalOrigin origin = HA_TRY(control_.signal_origin(thread_.tid));
    return origin.code == kUserDispatch;
  }

  // Brings the thread from the signal's stop to a stop like the one in which it was found. It drops
  // the signal and runs no instruction.
  Result<void> stop_before_delivery() {
    RemoteStop stop;
    while (stop.kind != Kind::Stopped) {
      HA_TRY(control_.interrupt(thread_.tid));
      HA_TRY(control_.run_on(thread_.tid, 0));
      is_running_ = true;
      stop = HA_TRY(control_.wait(thread_.tid, call_.deadline));
      is_running_ = stop.kind == Kind::Ended;
      if (is_running_) return ended_for_us(stop);
    }
    is_under_way_ = false;
    return {};
  }

  // Takes the thread through the call and into a stop of the kind in which it was found. The kernel
  // makes such a stop before it delivers any signal. The stop must be requested after the call is
  // made, because clone(2) fails while anything is pending (copy_process).
  Result<void> run_past_call() {
    for (;;) {
      HA_TRY(run_to_result());
      HA_TRY(control_.interrupt(thread_.tid));
      const RemoteStop stop = HA_TRY(run(false));
      if (stop.kind != Kind::Stopped) continue;
      const RawRegisters at = HA_TRY(control_.registers(thread_.tid));
      if (!is_after_call(at)) continue;
      // A stop signal has interrupted the call, and the kernel is about to repeat it.
      if (call_state(at) != CallState::None) continue;
      result_.value = call_result(at);
      is_under_way_ = false;
      return {};
    }
  }

  // Lets the thread run until the call has done its work: it has made a process, or the thread is
  // at the exit of the call.
  Result<void> run_to_result() {
    bool is_entered = false;
    while (result_.born == 0) {
      const RemoteStop stop = HA_TRY(run(true));
      if (stop.kind != Kind::SystemCall) continue;
      if (std::exchange(is_entered, true)) return {};
    }
    return {};
  }

  [[nodiscard]] bool is_after_call(const RawRegisters& at) const {
    const std::size_t entry = call_.makes_process ? Stub::clone_entry() : Stub::call_entry();
    return instruction_pointer(at) == thread_.stub + entry + call_instruction().size();
  }

  // Undoes everything in reverse order. A thread that is out of reach, or in the middle of the
  // stub, is left to return by itself: if it is in a call, the kernel would still write the call's
  // result over the registers that we set.
  Result<void> put_back() {
    if (is_running_) return {};
    if (is_under_way_) return control_.detach(thread_.tid);
    if (is_blocked_) HA_TRY(control_.set_signal_mask(thread_.tid, thread_.mask));
    is_blocked_ = false;
    // The stub may be removed only once no thread is in it.
    if (is_entered_) HA_TRY(control_.set_registers(thread_.tid, after_borrowing(thread_.found)));
    is_entered_ = false;
    const std::vector<std::byte> zeros(image_.size());
    if (is_written_) HA_TRY(control_.write(thread_.tid, thread_.stub, zeros));
    is_written_ = false;
    return {};
  }

  RemoteControl& control_;
  const Borrowed& thread_;
  const RemoteCall& call_;
  const std::vector<std::byte> image_;
  CallResult result_;
  bool is_written_ = false;
  bool is_entered_ = false;
  bool is_blocked_ = false;
  bool is_under_way_ = false;  // in the stub, not yet after the call
  bool is_running_ = false;    // out of reach: running, or dead
};

}  // namespace

Result<CallResult> make_call(RemoteControl& control,
                             const Borrowed& thread,
                             const RemoteCall& call) {
  std::optional<Result<CallResult>> result;
  pid_t born = 0;
  {
    Injection injection(control, thread, call);
    result = injection.run();
    born = injection.born();
  }
  // A new process stops before its first instruction.
  if (*result && born > 0) {
    const auto stop = control.wait(born, call.deadline);
    if (!stop) {
      result = stop.error();
    } else if (stop->kind != Kind::Stopped) {
      result = Error{ErrorKind::Gone,
                     fmt::format("the clone, process {}, ended as soon as it was made", born)};
    }
  }
  if (*result) return *std::move(result);
  if (born > 0) control.kill(born);
  return std::move(*result).error().context(
      fmt::format("making system call {} in thread {}", call.number, thread.tid));
}

}  // namespace heapattach
