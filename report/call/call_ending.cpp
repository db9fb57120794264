#include "report/call/call_ending.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "attach/arch/system_calls.h"
#include "inject/call_names.h"
#include "symbols/unwind/stacks.h"

namespace heapattach {

namespace {

using End = CallOutcome::End;

constexpr std::size_t kMostFrames = 32;
// The time to name the functions of a call that hangs. The user waits for this answer, so a busy
// machine gets more time than was requested.
constexpr std::chrono::milliseconds kForStack{15000};
constexpr std::chrono::seconds kForEnding{10};

// The piece of the clone's stack that was kept. All other memory is read from the modules' files.
class KeptStack final : public MemoryReader {
 public:
  KeptStack(RemoteAddr from, std::span<const std::byte> bytes) : from_(from), bytes_(bytes) {}
  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override {
    const std::uint64_t offset = from - from_;
    if (offset >= bytes_.size()) {
      return Error{ErrorKind::Fault, fmt::format("{} was not copied", from)};
    }
    const auto count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  RemoteAddr from_;
  std::span<const std::byte> bytes_;
};

std::string frame_text(RemoteAddr pc, std::string_view function, const Modules& modules) {
  if (!function.empty()) return std::string(function);
  const Module* module = modules.find(pc);
  return module == nullptr ? fmt::format("{}", pc) : fmt::format("{} in {}", pc, module->name());
}

std::string crash_text(const CallOutcome& outcome) {
  const std::string signal = name_of_signal(outcome.number);
  if (outcome.is_shared) {
    return fmt::format(
        "was stopped before it wrote to {}, which the target shares with others and which is "
        "read-only in the clone ({})",
        outcome.fault, signal);
  }
  if (outcome.number == SIGABRT) return fmt::format("aborted ({})", signal);
  if (outcome.fault.value != 0) return fmt::format("crashed ({} at {})", signal, outcome.fault);
  return fmt::format("crashed ({})", signal);
}

std::string_view hint_about(int number) {
  if (number == kOpen || number == SYS_openat) {
    return " (it would change the file, or take input from another process)";
  }
  if (number == SYS_fcntl || number == SYS_ioctl || number == SYS_prctl) {
    return " with these arguments";
  }
  return {};
}

std::string ending_text(const CallOutcome& outcome, const std::optional<std::string>& given_up) {
  switch (outcome.end) {
    case End::Returned: return {};
    case End::Crashed: return crash_text(outcome);
    case End::Exited: return fmt::format("ended its process with exit({})", outcome.number);
    case End::Executed: return "was stopped before it started another program (execve)";
    case End::TimedOut: return "did not return in time";
    case End::Killed: break;
  }
  if (given_up) return "was given up together with the clone, because " + *given_up;
  return fmt::format("was killed with the clone by {}", name_of_signal(outcome.number));
}

}  // namespace

std::string name_of_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::vector<std::string> name_frames(const CallOptions& options,
                                     const Modules& modules,
                                     const Standing& standing,
                                     const Deadline& deadline) {
  if (!standing.where) return {};
  FrozenThread thread;
  thread.tid = standing.thread;
  thread.registers = registers_of(*standing.where);
  const KeptStack kept(stack_pointer(*standing.where), standing.stack);
  types::TypeModel no_types;
  unwind::StackLimits limits;
  limits.with_locals = false;
  limits.with_places = true;
  limits.time = kForStack;
  limits.deadline = deadline;
  const auto found = unwind::walk_stacks(modules, no_types, kept, {{&thread, 1}, {}}, limits);
  if (!found) {
    options.request.note("no names of functions: " + found.error().message());
    return {};
  }
  std::vector<std::string> frames;
  if (found->stacks.empty()) return frames;
  // Look up a caller by the instruction before the return address.
  const RemoteAddr behind = standing.return_address - 1;
  for (const unwind::FrameRecord& frame : found->stacks.front().frames) {
    const bool is_ours = frame.pc.value <= kReturnAddress.value ||
                         frame.pc == standing.return_address || frame.pc == behind;
    if (is_ours || frames.size() >= kMostFrames) break;
    const auto places = found->places_of(frame.pc);
    if (places.empty()) frames.push_back(frame_text(frame.pc, {}, modules));
    for (const unwind::Place& place : places) {
      frames.push_back(frame_text(frame.pc, place.function, modules));
    }
  }
  return frames;
}

bool waits_for_lock(const std::vector<std::string>& frames) {
  constexpr std::array<std::string_view, 5> kWaits{"lll_lock_wait", "mutex_lock", "cond_wait",
                                                   "rwlock", "futex"};
  const std::size_t count = std::min<std::size_t>(frames.size(), 3);
  return std::any_of(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const std::string& frame) {
                       return std::any_of(kWaits.begin(), kWaits.end(), [&](std::string_view wait) {
                         return frame.find(wait) != std::string::npos;
                       });
                     });
}

void explain_ending(const CallOptions& options,
                    const Modules& modules,
                    const CallOutcome& outcome,
                    const std::optional<std::string>& given_up,
                    CallReport& report) {
  if (outcome.refused_processes > 0) {
    report.notes.push_back(fmt::format(
        "{} tried to start a process, which it cannot do in a clone{}", report.function,
        outcome.refused_processes > 1 ? fmt::format(" ({} times)", outcome.refused_processes)
                                      : ""));
  }
  for (const int number : outcome.refused_calls) {
    const std::string name = call_name(number);
    report.notes.push_back(
        fmt::format("{} was refused the system call {}{}; --allow-calls {} allows it",
                    report.function, name, hint_about(number), name));
  }
  if (outcome.end == End::Returned) return;
  report.is_timeout = outcome.end == End::TimedOut;
  report.frames =
      name_frames(options, modules, {outcome.thread, outcome.where, outcome.stack, kReturnAddress},
                  Deadline::in(kForEnding));
  report.ending =
      fmt::format("{} {}; the target runs on", report.function, ending_text(outcome, given_up));
  if (report.is_timeout && waits_for_lock(report.frames)) {
    report.ending +=
        "; it waits for a lock, which another thread held when the clone was made; try again";
  } else if (report.is_timeout) {
    report.ending += "; try a longer --timeout";
  }
}

}  // namespace heapattach
