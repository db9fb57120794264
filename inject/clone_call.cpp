#include "inject/clone_call.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/status_signals.h"
#include "inject/taken_file.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = OwnStop::Kind;

constexpr int kDescriptors = 3;
constexpr std::size_t kStackShown = std::size_t{256} * 1024;

Error refused(std::string_view what, std::int64_t result) {
  Error error = os_error(fmt::format("{} in the clone", what), static_cast<int>(-result));
  error.kind = ErrorKind::Impossible;
  return error;
}

bool has_descriptors(const Process& clone) {
  const auto directory = clone.open_file("fd", O_RDONLY | O_DIRECTORY);
  if (!directory) return true;
  DIR* const listing = fdopendir(dup(directory->get()));
  if (listing == nullptr) return true;
  bool has_any = false;
  while (const dirent* entry = readdir(listing)) has_any = has_any || entry->d_name[0] != '.';
  closedir(listing);
  return has_any;
}

bool is_harmless(int signal) {
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
}

// Whether the signal would stop the clone. Nobody would continue it.
bool is_stop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

Result<CloneCalls> CloneCalls::prepare(const Process& clone,
                                       std::vector<int> beyond,
                                       bool uses_landlock) {
  CloneCalls calls(HA_TRY(OwnProcess::take(clone)));
  auto isolated = calls.isolate(std::move(beyond), uses_landlock);
  if (!isolated) return calls.own_->explain(std::move(isolated).error());
  return calls;
}

Result<void> CloneCalls::isolate(std::vector<int> beyond, bool uses_landlock) {
  HA_TRY(give_descriptors());
  auto closed = close_off(*own_, std::move(beyond), kMostOutput, uses_landlock);
  if (!closed) {
    return std::move(closed).error().context("closing the clone off from everything else");
  }
  walls_ = *std::move(closed);
  own_->judge_by(walls_.rules);
  return {};
}

Result<void> CloneCalls::give_descriptors() {
  if (has_descriptors(own_->process())) {
    return Error{ErrorKind::Impossible, "it shares the target's open files (kernel before 5.9)"};
  }
  constexpr char kName[] = "heapattach";
  const RemoteAddr name = own_->scratch();
  HA_TRY(own_->write(name, std::as_bytes(std::span(kName))));
  for (int expected = 0; expected < kDescriptors; ++expected) {
    const std::array<std::uint64_t, 2> arguments{name.value, 0};
    const std::int64_t got = HA_TRY(own_->system_call(SYS_memfd_create, arguments));
    if (got != expected) return refused("memfd_create", got);
    // Keep the files open, so that they outlive the clone.
    files_.at(static_cast<std::size_t>(expected)) =
        HA_TRY(take_memory(own_->process(), {own_->process().pid(), expected}, kName, O_RDONLY));
  }
  return {};
}

Result<void> CloneCalls::write(RemoteAddr at, std::span<const std::byte> bytes) {
  auto written = own_->write(at, bytes);
  if (!written) return own_->explain(std::move(written).error());
  return {};
}

Result<ClonePipe> CloneCalls::open_pipe() {
  auto pipe = make_pipe();
  if (!pipe) return own_->explain(std::move(pipe).error());
  return pipe;
}

Result<ClonePipe> CloneCalls::make_pipe() {
  constexpr std::uint64_t kFarDescriptor = 200;
  const RemoteAddr at = own_->scratch();
  const std::array<std::uint64_t, 2> arguments{at.value, O_CLOEXEC};
  const std::int64_t made = HA_TRY(own_->system_call(SYS_pipe2, arguments));
  if (made < 0) return refused("pipe2", made);
  const auto ends = HA_TRY((own_->memory().read_as<std::array<std::int32_t, 2>>(at)));
  Fd reading = HA_TRY(take_pipe(own_->process(), ends[0]));
  // Close the reading end in the clone: only we read.
  const std::array<std::uint64_t, 1> not_ours{static_cast<std::uint64_t>(ends[0])};
  static_cast<void>(HA_TRY(own_->system_call(SYS_close, not_ours)));
  // Move the writing end to a high number. The program may reserve some of the low numbers that it
  // used, as Ruby does.
  const std::array<std::uint64_t, 3> far{static_cast<std::uint64_t>(ends[1]), F_DUPFD_CLOEXEC,
                                         kFarDescriptor};
  const std::int64_t moved = HA_TRY(own_->system_call(SYS_fcntl, far));
  const auto writing = moved < 0 ? ends[1] : static_cast<std::int32_t>(moved);
  if (moved >= 0) {
    const std::array<std::uint64_t, 1> near{static_cast<std::uint64_t>(ends[1])};
    static_cast<void>(HA_TRY(own_->system_call(SYS_close, near)));
  }
  return ClonePipe{fmt::format("/proc/self/fd/{}", writing), writing, std::move(reading)};
}

Result<CallOutcome> CloneCalls::call(RemoteAddr function,
                                     std::span<const CallArgument> arguments,
                                     Clock::time_point deadline) {
  const CallFrame frame = HA_TRY(make_call_frame(own_->found(), function, arguments));
  HA_TRY(own_->write(frame.at, frame.stack));
  return follow(frame, HA_TRY(own_->run(frame.registers, deadline)), deadline);
}

Result<CallOutcome> CloneCalls::follow(const CallFrame& frame,
                                       OwnStop stop,
                                       Clock::time_point deadline) {
  std::optional<CallOutcome> handled;  // the first crash that was passed to the program's handler
  std::optional<CallOutcome> outcome;
  int processes = 0;
  std::vector<int> calls;
  for (;;) {
    int hand_on = 0;
    switch (stop.kind) {
      case Kind::Exited: outcome = outcome_of(stop, End::Exited); break;
      case Kind::Killed: outcome = outcome_of(stop, End::Killed); break;
      case Kind::TriesProgram: outcome = outcome_of(stop, End::Executed); break;
      case Kind::TimedOut: outcome = outcome_of(stop, End::TimedOut); break;
      case Kind::TriesProcess: ++processes; break;
      case Kind::TriesCall:
        if (std::find(calls.begin(), calls.end(), stop.call) == calls.end()) {
          calls.push_back(stop.call);
        }
        break;
      case Kind::Signal:
        outcome = judge_signal(frame, stop, handled);
        hand_on = is_stop(stop.signal) ? 0 : stop.signal;
        break;
    }
    if (outcome) break;
    stop = HA_TRY(own_->go_on(stop.thread, hand_on, deadline));
  }
  // If the program's handler handled a crash and then ended the program, report the crash.
  const bool is_told = outcome->end == End::Returned || outcome->end == End::TimedOut;
  if (handled && !is_told) outcome = std::move(handled);
  outcome->refused_processes = processes;
  outcome->refused_calls = std::move(calls);
  return *std::move(outcome);
}

std::optional<CallOutcome> CloneCalls::judge_signal(const CallFrame& frame,
                                                    const OwnStop& stop,
                                                    std::optional<CallOutcome>& handled) const {
  if (stop.signal == SIGSEGV) {
    const auto now = OwnProcess::registers(stop.thread);
    if (now && has_returned(frame, *now)) {
      CallOutcome returned;
      returned.value = function_result(*now);
      return returned;
    }
  }
  if (is_stop(stop.signal)) return std::nullopt;
  const Process& clone = own_->process();
  const bool is_handled = has_signal(status_signals(clone, "SigCgt"), stop.signal);
  const bool is_ignored =
      has_signal(status_signals(clone, "SigIgn"), stop.signal) || is_harmless(stop.signal);
  if (!is_handled && (stop.is_fault || !is_ignored)) return outcome_of(stop, End::Crashed);
  if (is_handled && stop.is_fault && !handled) handled = outcome_of(stop, End::Crashed);
  return std::nullopt;
}

CallOutcome CloneCalls::outcome_of(const OwnStop& stop, End end) const {
  CallOutcome outcome;
  outcome.end = end;
  outcome.fault = stop.fault;
  outcome.thread = stop.thread;
  outcome.number = stop.kind == Kind::Exited ? stop.status : stop.signal;
  outcome.is_shared = std::any_of(walls_.rules.shared.begin(), walls_.rules.shared.end(),
                                  [&](const Range& range) { return range.contains(stop.fault); });
  if (stop.thread == 0) return outcome;
  const auto now = OwnProcess::registers(stop.thread);
  if (!now) return outcome;
  outcome.where = *now;
  outcome.stack.resize(kStackShown);
  const auto got = own_->memory().read_some(stack_pointer(*now), outcome.stack);
  outcome.stack.resize(got ? *got : 0);
  return outcome;
}

std::size_t CloneCalls::output_bytes(int descriptor) const {
  const Fd& file = files_.at(static_cast<std::size_t>(descriptor));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return 0;
  return static_cast<std::size_t>(status.st_size);
}

Result<std::string> CloneCalls::output(int descriptor, std::size_t offset) const {
  const Fd& file = files_.at(static_cast<std::size_t>(descriptor));
  std::string text;
  std::array<char, 65536> buffer{};
  while (text.size() < kMostOutput) {
    const auto got =
        pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset + text.size()));
    const int failure = errno;
    if (got < 0) return os_error("reading what the function wrote", failure);
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace heapattach
