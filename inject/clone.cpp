#include "inject/clone.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>

#include "attach/base/needed_time.h"
#include "inject/arch/stub.h"
#include "inject/choose_thread.h"
#include "inject/headroom.h"
#include "inject/hold_clone.h"
#include "inject/leftovers.h"
#include "inject/not_copied.h"
#include "inject/padding.h"
#include "inject/ptrace_control.h"

namespace heapattach {

namespace {

// How long a clone sleeps between its birth, which the freeze's tracing thread sees, and the moment
// when we take hold of it. After that it exits by itself.
constexpr std::uint64_t kSleepSeconds = 3;
// The disposal of a clone may take this long, whatever the deadline.
constexpr std::chrono::seconds kCleaning{30};

constexpr const char* kInstead = "--snapshot freeze";

Error explain_refusal(std::int64_t failure) {
  const int number = static_cast<int>(-failure);
  Error error = os_error("clone in the target", number);
  // The kind depends on the errno otherwise: Denied or Gone would be about us, but the kernel has
  // refused the target.
  error.kind = ErrorKind::Impossible;
  if (number == EAGAIN) {
    error.reason += " (a limit on processes: RLIMIT_NPROC, pids.max or kernel.threads-max)";
  } else if (number == ENOMEM) {
    error.reason += " (the limit on committed memory: vm.overcommit_memory, or another limit)";
  }
  return std::move(error).advise(kInstead);
}

struct Newborn {
  std::optional<Process> process;
  pid_t number = 0;  // its pid in the target's view
};

// Decisions about the clone that are made before the target is frozen.
struct Plan {
  const Process& target;
  MemoryMap map;
  std::vector<RemoteAddr> stubs;  // places for the instructions
  const CloneOptions& options;
  Headroom headroom;
  std::vector<Range> not_copied;  // filled after a clone has ended at once
};

// The threads that may be borrowed: all stopped threads, or only the one in the options.
Result<std::vector<const FrozenThread*>> standing_still(const Plan& plan, const FrozenView& view) {
  std::vector<const FrozenThread*> threads;
  bool is_any_still = false;
  for (const FrozenThread& thread : view.threads) {
    const bool is_asked_for = !plan.options.borrow || *plan.options.borrow == thread.tid;
    if (!is_asked_for || !thread.registers) continue;
    is_any_still = true;
    if (is_copied(thread, plan.not_copied)) threads.push_back(&thread);
  }
  if (!threads.empty()) return threads;
  if (is_any_still) {
    return Error{ErrorKind::Impossible,
                 "a copy would end at once: the stacks of the threads that could make it are kept "
                 "out of copies (MADV_DONTFORK)"}
        .advise(kInstead);
  }
  const auto stuck = std::find_if(view.threads.begin(), view.threads.end(),
                                  [](const FrozenThread& thread) { return !thread.registers; });
  if (stuck == view.threads.end()) return threads;
  return Error{ErrorKind::Timeout,
               fmt::format("thread {} ({}) is in uninterruptible sleep (state {}), where it cannot "
                           "make a copy, and no other can",
                           stuck->tid, stuck->name, stuck->state)}
      .advise(kInstead);
}

Result<Plan> make_plan(const Process& target,
                       const CloneOptions& options,
                       const MemoryReader& memory) {
  const CloneFacts facts = HA_TRY(clone_facts(target));
  if (const auto obstacle = obstacle_to_clone(facts, options.freeze.budget)) {
    return Error{ErrorKind::Impossible,
                 fmt::format("no clone of process {} was attempted: {}", target.pid(), *obstacle)}
        .advise(kInstead);
  }
  MemoryMap map = HA_TRY(target.maps());
  auto stubs = find_paddings(map, memory, Stub::size_bytes());
  if (stubs.empty()) {
    return Error{ErrorKind::Impossible,
                 fmt::format("process {} has no {} bytes of padding after its code for the "
                             "instructions of a clone",
                             target.pid(), Stub::size_bytes())}
        .advise(kInstead);
  }
  return Plan{target, std::move(map), std::move(stubs), options, Headroom::of(target, facts), {}};
}

// Prepares a new clone before it costs any memory, and lets it go to sleep.
Result<Process> prepare(pid_t born, RemoteControl& control) {
  HA_TRY(control.offer_to_oom_killer(born));
  Process process = HA_TRY(Process::open_copy(born));
  HA_TRY(control.detach(born));
  return process;
}

// Makes the clone while the target is frozen, and leaves it asleep. Adds to `lost` a clone that had
// to be killed, which the target still has to reap.
Result<Newborn> give_birth(const Plan& plan,
                           const FrozenView& view,
                           RemoteControl& control,
                           std::vector<pid_t>& lost) {
  const auto threads = HA_TRY(standing_still(plan, view));
  const Borrowed thread = HA_TRY(choose_thread(
      {control, plan.target, plan.map, plan.stubs, plan.options.freeze.rewind}, threads));
  // The arguments of clone(2): flags without an exit signal, no new stack, no thread ids to store.
  const RemoteCall call{.number = SYS_clone,
                        .arguments = {CLONE_FILES, 0, 0, 0, 0},
                        .makes_process = true,
                        .clone_seconds = kSleepSeconds,
                        .deadline = view.deadline};
  const CallResult made = HA_TRY(make_call(control, thread, call));
  if (made.value < 0) return explain_refusal(made.value);
  if (made.born <= 0) return Error{ErrorKind::Gone, "the clone did not appear"};
  auto process = prepare(made.born, control);
  if (process) return Newborn{std::move(*process), static_cast<pid_t>(made.value)};
  control.kill(made.born);
  lost.push_back(static_cast<pid_t>(made.value));
  Error error = std::move(process).error();
  if (error.kind != ErrorKind::Gone) return error;
  // The error must not be Gone: the clone has ended, not the target.
  return Error{ErrorKind::Impossible,
               fmt::format("the clone, process {}, was killed as soon as it was made", made.born)};
}

}  // namespace

// Builds a Clone, and has access to its private parts.
class CloneMaker {
 public:
  CloneMaker(Plan& plan, RemoteControl& control) : plan_(plan), control_(control) {}

  Result<Clone> make() {
    const Process& target = plan_.target;
    auto watch = HA_TRY(CloneWatch::start(
        [headroom = plan_.headroom] { return headroom.shortage(); }, kill_and_release));
    Newborn newborn;
    std::vector<pid_t> lost;
    const auto& options = plan_.options;
    auto frozen = while_frozen(target, options.freeze, [&](const FrozenView& view) -> Result<void> {
      if (options.look) HA_TRY(options.look(view));
      newborn = HA_TRY(give_birth(plan_, view, control_, lost));
      watch->look_after(newborn.process->pid());
      return {};
    });
    if (!frozen) {
      static_cast<void>(clear_leftovers(target, control_, options.freeze.deadline, lost));
      return std::move(frozen).error();
    }
    Clone clone(target, std::move(*newborn.process), newborn.number, std::move(*frozen),
                options.freeze.deadline);
    clone.watch_ = std::move(watch);
    auto held = hold_clone(clone.process());
    if (const auto reason = clone.given_up(); !held && reason) {
      return Error{ErrorKind::Impossible,
                   fmt::format("the clone was given up at once, because {}", *reason)}
          .advise(kInstead);
    }
    if (held) return clone;
    has_ended_early_ = held.error().kind == ErrorKind::Gone && target.is_alive();
    Error error = std::move(held).error();
    // The error must not be Gone: the clone has ended, not the target.
    if (has_ended_early_) error.kind = ErrorKind::Impossible;
    return error;
  }

  // Whether another try makes sense. A clone ends at once if it lacks memory that the kernel itself
  // needs; the next try then borrows a thread whose memory is copied.
  bool can_do_better() {
    if (!has_ended_early_ || !plan_.not_copied.empty()) return false;
    const auto smaps = plan_.target.read_file("smaps");
    if (smaps) plan_.not_copied = not_copied(*smaps);
    return !plan_.not_copied.empty();
  }

 private:
  Plan& plan_;
  RemoteControl& control_;
  bool has_ended_early_ = false;
};

Result<Clone> Clone::make(const Process& target,
                          const CloneOptions& options,
                          RemoteControl& control) {
  // Stubs of killed runs may fill all the padding. Dead clones are reaped before a new one is made,
  // so that they do not pile up even if every run is killed.
  if (const auto left = left_stubs(HA_TRY(target.maps()), control.memory()); !left.empty()) {
    HA_TRY(clear_leftovers(target, control, options.freeze.deadline));
  } else if (!dead_clones(target).empty()) {
    static_cast<void>(clear_leftovers(target, control, options.freeze.deadline));
  }
  Plan plan = HA_TRY(make_plan(target, options, control.memory()));
  CloneMaker maker(plan, control);
  auto made = maker.make();
  if (!made && maker.can_do_better()) made = maker.make();
  return made;
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
      deadline_(other.deadline_),
      watch_(std::move(other.watch_)) {}

Clone& Clone::operator=(Clone&& other) noexcept {
  if (this != &other) {
    static_cast<void>(end());
    target_ = std::exchange(other.target_, nullptr);
    process_ = std::exchange(other.process_, std::nullopt);
    number_ = other.number_;
    freeze_ = std::move(other.freeze_);
    deadline_ = other.deadline_;
    watch_ = std::move(other.watch_);
  }
  return *this;
}

bool Clone::is_whole() const {
  constexpr char kHeldByTracer = 't';
  if (!process_ || given_up()) return false;
  // If somebody kills the clone, this state ends before the clone loses any memory.
  const auto state = process_->thread_state(process_->pid());
  return state && state->state == kHeldByTracer;
}

Result<void> Clone::end() {
  if (!process_) return {};
  const NeededTime cleaning(kCleaning);
  watch_.reset();
  const Process clone = *std::exchange(process_, std::nullopt);
  if (!kill_and_wait(clone)) {
    return Error{ErrorKind::Timeout,
                 fmt::format("the clone {} does not end; kill -9 ends it", clone.pid())};
  }
  const auto control = PtraceControl::open(*target_);
  auto reaped = control ? clear_leftovers(*target_, **control, deadline_, {number_})
                        : Result<void>(control.error());
  // If the target has ended, init reaps the clone.
  if (reaped || !target_->is_alive()) return {};
  return std::move(reaped).error().context(
      fmt::format("the clone {} stays a zombie of process {}", clone.pid(), target_->pid()));
}

}  // namespace heapattach
