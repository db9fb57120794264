#include "inject/clone.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <elf.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "attach/ptrace_word.h"
#include "inject/choose_thread.h"
#include "inject/headroom.h"
#include "inject/leftovers.h"
#include "inject/padding.h"
#include "inject/ptrace_control.h"
#include "inject/stub.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

// How long a clone sleeps between its birth, which the tracing thread of the freeze sees, and our
// taking hold of it; then it exits by itself.
constexpr std::uint64_t kSleepSeconds = 3;
constexpr std::chrono::seconds kPatience{3};
// To give back the page tables of a large heap takes the kernel long.
constexpr std::chrono::seconds kDeathPatience{30};

std::vector<pid_t> standing_still(const FrozenView& view) {
  std::vector<pid_t> tids;
  for (const FrozenThread& thread : view.threads) {
    if (thread.registers) tids.push_back(thread.tid);
  }
  return tids;
}

Error explain_refusal(std::int64_t failure) {
  const int number = static_cast<int>(-failure);
  Error error = os_error("clone in the target", number);
  // Not Denied or Gone, whatever the errno: it is the target that was refused something.
  error.kind = ErrorKind::Unsupported;
  if (number == EAGAIN) {
    error.message += " (a limit on processes: RLIMIT_NPROC, pids.max or kernel.threads-max)";
  } else if (number == ENOMEM) {
    error.message += " (memory that may be promised: vm.overcommit_memory, or a limit)";
  }
  error.message += "; try --snapshot freeze";
  return error;
}

struct Newborn {
  std::optional<Process> process;
  pid_t number = 0;  // as the target knows it
};

// Where and how a clone is made, found out beforehand.
struct Plan {
  const Process& target;
  MemoryMap map;
  RemoteAddr padding;
  const CloneOptions& options;
  Headroom headroom;
};

Result<Plan> make_plan(const Process& target,
                       const CloneOptions& options,
                       const MemoryReader& memory) {
  const CloneFacts facts = HA_TRY(clone_facts(target));
  if (const auto obstacle = obstacle_to_clone(facts, options.freeze.budget)) {
    return Error{ErrorKind::Unsupported,
                 fmt::format("no clone of process {} is tried: {}; try --snapshot freeze",
                             target.pid(), *obstacle)};
  }
  MemoryMap map = HA_TRY(target.maps());
  const auto padding = find_padding(map, memory, Stub::size_bytes());
  if (!padding) {
    return Error{ErrorKind::Unsupported,
                 fmt::format("process {} has no {} bytes of padding after its code for the "
                             "instructions of a clone; try --snapshot freeze",
                             target.pid(), Stub::size_bytes())};
  }
  return Plan{target, std::move(map), *padding, options, Headroom::of(target, facts)};
}

// What is to be done with a clone before it has cost any memory. It sleeps afterwards.
Result<Process> prepare(pid_t born, RemoteControl& control) {
  HA_TRY(control.offer_to_oom_killer(born));
  Process process = HA_TRY(Process::open(born));
  HA_TRY(control.detach(born));
  return process;
}

// Makes the clone while the target is frozen, and leaves it asleep.
Result<Newborn> give_birth(const Plan& plan, const FrozenView& view, RemoteControl& control) {
  const auto& borrow = plan.options.borrow;
  const std::vector<pid_t> tids = borrow ? std::vector{*borrow} : standing_still(view);
  const Borrowed thread =
      HA_TRY(choose_thread(control, plan.target, plan.map, tids, plan.options.freeze.rewind));
  // Flags and no exit signal; no stack of its own, no identifiers to store.
  const RemoteCall call{.stub = plan.padding,
                        .number = SYS_clone,
                        .arguments = {CLONE_FILES, 0, 0, 0, 0},
                        .makes_process = true,
                        .clone_seconds = kSleepSeconds,
                        .deadline = view.deadline};
  const CallResult made = HA_TRY(make_call(control, thread, call));
  if (made.value < 0) return explain_refusal(made.value);
  if (made.born <= 0) return Error{ErrorKind::Gone, "the clone was not seen"};
  auto process = prepare(made.born, control);
  if (process) return Newborn{std::move(*process), static_cast<pid_t>(made.value)};
  control.kill(made.born);
  return std::move(process).error();
}

// Whether a stopped clone has come to its sleep, and so has let go of the target's files.
bool is_asleep(pid_t pid) {
  RawRegisters at{};
  iovec area{&at, sizeof at};
  if (ptrace(PTRACE_GETREGSET, pid, ptrace_word(NT_PRSTATUS), &area) != 0) return false;
  return at.orig_rax == SYS_nanosleep && call_state(at) == CallState::RestartsRest;
}

Result<void> wait_for_stop(pid_t pid, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, __WALL | WNOHANG);
    if (got > 0 && WIFSTOPPED(status)) return {};
    if (got > 0 || (got < 0 && errno != EINTR)) {
      return Error{ErrorKind::Gone,
                   fmt::format("the clone {} ended before it was taken hold of", pid)};
    }
    sched_yield();
  }
  return Error{ErrorKind::Timeout, fmt::format("the clone {} does not stop", pid)};
}

// Takes hold of the clone where it sleeps. PTRACE_O_EXITKILL, which no target of ours must ever
// see, is right here: nobody else has any use for it.
Result<void> hold(const Process& clone) {
  const pid_t pid = clone.pid();
  if (ptrace(PTRACE_SEIZE, pid, nullptr, ptrace_word(PTRACE_O_EXITKILL)) != 0) {
    return os_error(fmt::format("taking hold of the clone {}", pid), errno);
  }
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
    HA_TRY(wait_for_stop(pid, deadline));
    if (is_asleep(pid)) return {};
    ptrace(PTRACE_CONT, pid, nullptr, nullptr);
    sched_yield();
  }
  return Error{ErrorKind::Timeout, fmt::format("the clone {} does not come to its sleep", pid)};
}

// True once it is dead and has been taken notice of.
bool kill_and_wait(const Process& clone) {
  kill_and_release(clone.pid());
  const auto deadline = Clock::now() + kDeathPatience;
  while (Clock::now() < deadline) {
    int status = 0;
    const pid_t got = waitpid(clone.pid(), &status, __WALL | WNOHANG);
    if (got == clone.pid() && !WIFSTOPPED(status)) return true;
    if (got < 0 && errno == ECHILD) return !clone.is_alive();
    constexpr timespec kMoment{0, 100'000};
    nanosleep(&kMoment, nullptr);
  }
  return false;
}

}  // namespace

Result<Clone> Clone::make(const Process& target,
                          const CloneOptions& options,
                          RemoteControl& control) {
  // What a heapattach has left that was killed may take all the room that there is.
  if (const auto left = left_stubs(HA_TRY(target.maps()), control.memory()); !left.empty()) {
    HA_TRY(clear_leftovers(target, control));
  }
  const Plan plan = HA_TRY(make_plan(target, options, control.memory()));
  auto watch = HA_TRY(CloneWatch::start([headroom = plan.headroom] { return headroom.shortage(); },
                                        kill_and_release));
  Newborn newborn;
  auto frozen = while_frozen(target, options.freeze, [&](const FrozenView& view) -> Result<void> {
    if (options.look) HA_TRY(options.look(view));
    newborn = HA_TRY(give_birth(plan, view, control));
    watch->look_after(newborn.process->pid());
    return {};
  });
  if (!frozen) {
    static_cast<void>(clear_leftovers(target, control));
    return std::move(frozen).error();
  }
  Clone clone(target, std::move(*newborn.process), newborn.number, std::move(*frozen));
  clone.watch_ = std::move(watch);
  auto held = hold(clone.process());
  if (const auto reason = clone.given_up(); !held && reason) {
    return Error{
        ErrorKind::Unsupported,
        fmt::format("the clone was given up at once, because {}; try --snapshot freeze", *reason)};
  }
  HA_TRY(std::move(held));
  return clone;
}

Result<Clone> Clone::make(const Process& target, const CloneOptions& options) {
  const auto control = HA_TRY(PtraceControl::open(target));
  return make(target, options, *control);
}

Clone::Clone(Clone&& other) noexcept
    : target_(std::exchange(other.target_, nullptr)),
      process_(std::exchange(other.process_, std::nullopt)),
      number_(other.number_),
      freeze_(std::move(other.freeze_)),
      watch_(std::move(other.watch_)) {}

Clone& Clone::operator=(Clone&& other) noexcept {
  if (this != &other) {
    static_cast<void>(end());
    target_ = std::exchange(other.target_, nullptr);
    process_ = std::exchange(other.process_, std::nullopt);
    number_ = other.number_;
    freeze_ = std::move(other.freeze_);
    watch_ = std::move(other.watch_);
  }
  return *this;
}

bool Clone::is_whole() const {
  constexpr char kHeldByTracer = 't';
  if (!process_ || given_up()) return false;
  // SIGKILL wakes it from this before anything else is done to it.
  const auto state = process_->thread_state(process_->pid());
  return state && state->state == kHeldByTracer;
}

Result<void> Clone::end() {
  if (!process_) return {};
  watch_.reset();
  const Process clone = *std::exchange(process_, std::nullopt);
  if (!kill_and_wait(clone)) {
    return Error{ErrorKind::Timeout,
                 fmt::format("the clone {} does not end; it can be killed", clone.pid())};
  }
  const auto control = PtraceControl::open(*target_);
  auto reaped =
      control ? clear_leftovers(*target_, **control, {number_}) : Result<void>(control.error());
  // Its parent gone, somebody else takes notice.
  if (reaped || !target_->is_alive()) return {};
  return std::move(reaped).error().context(
      fmt::format("the clone {} stays a zombie of process {}", clone.pid(), target_->pid()));
}

}  // namespace heapattach
