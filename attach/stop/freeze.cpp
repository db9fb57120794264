#include "attach/stop/freeze.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/fault_points.h"
#include "attach/base/fd.h"
#include "attach/base/guardian.h"
#include "attach/process/process.h"
#include "attach/process/thread_activity.h"
#include "attach/stop/frozen_process.h"
#include "attach/stop/ptrace_tracer.h"

namespace heapattach {

namespace {

// Lets several runs of heapattach on one process take turns. Each run traces it only for some
// milliseconds, so after a refusal because of another run, it is worth trying again. Other programs
// may trace it for long, so they are reported at once.
class OtherRuns {
 public:
  explicit OtherRuns(const Deadline& deadline);

  // Call it after a refusal, when no thread is traced. Waits a little, for a random time so that
  // two runs do not keep refusing each other. False if another program traces the process, or if
  // our time is up.
  bool wait_for_turn(const Process& process);

 private:
  std::chrono::steady_clock::time_point until_;
  std::minstd_rand random_;
};

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{5};
constexpr int kLongestWaitMs = 20;

std::string name_of(pid_t thread) {
  const auto file = Fd::open(fmt::format("/proc/{}/comm", thread), 0);
  auto name = file ? read_all(*file, 64) : Result<std::string>(std::string());
  return name ? *std::move(name) : std::string();
}

// The tracer of any of the process's threads; 0 if none is traced any more.
pid_t tracer_of(const Process& process) {
  const auto listing = process.list_threads();
  if (!listing) return 0;
  for (const pid_t tid : listing->tids) {
    const auto status = process.thread_status(tid);
    if (status && status->tracer != 0) return status->tracer;
  }
  return 0;
}

OtherRuns::OtherRuns(const Deadline& deadline) : random_(static_cast<unsigned>(gettid())) {
  const auto now = Clock::now();
  const auto half = (deadline.at - now) / 2;
  until_ = now + std::min<Clock::duration>(kPatience, half);
}

bool OtherRuns::wait_for_turn(const Process& process) {
  if (Clock::now() >= until_) return false;
  const pid_t tracer = tracer_of(process);
  if (tracer != 0) {
    const std::string name = name_of(tracer);
    const bool is_over = name.empty();
    if (!is_over && name != "heapattach\n") return false;
  }
  std::uniform_int_distribution<int> wait(1, kLongestWaitMs);
  std::this_thread::sleep_for(std::chrono::milliseconds(wait(random_)));
  return true;
}

// Leaves all other events for the tracing thread to collect.
bool has_ended(pid_t tid) {
  siginfo_t news{};
  constexpr int kPeek = WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (waitid(P_PID, static_cast<id_t>(tid), &news, kPeek) != 0 || news.si_pid == 0) return false;
  return news.si_code == CLD_EXITED || news.si_code == CLD_KILLED || news.si_code == CLD_DUMPED;
}

// Reaps the dead threads of `process`, except its first, on behalf of the tracing thread while that
// is blocked in PTRACE_SEIZE.
//
// PTRACE_SEIZE waits for a lock that execve holds (ptrace_attach: cred_guard_mutex), and execve
// waits until all other threads of its process are gone (de_thread), and have been reaped by their
// tracer too. So a tracer that has seized one thread and is now seizing another would deadlock with
// the target. Only another thread in the tracer's process can reap the dead ones.
void reap_dead_threads(const Process& process) {
  const auto listing = process.list_threads();
  if (!listing) return;
  for (const pid_t tid : listing->tids) {
    // The first thread is its parent's to reap (we may be the parent), and execve does not wait for
    // its tracer.
    if (tid != process.pid() && has_ended(tid)) waitpid(tid, nullptr, __WALL | WNOHANG);
  }
}

using Work = std::function<Result<void>(const FrozenView&)>;

// After this long the tracing thread may be blocked by an execve: see reap_dead_threads().
constexpr std::chrono::milliseconds kSeizePatience{20};
// Reading checks its deadline every few milliseconds. If it is this late, it no longer does.
constexpr std::chrono::milliseconds kHangPatience{500};

// Runs the work on a second thread, so that work that hangs does not block the freeze.
class Reader {
 public:
  explicit Reader(const Work& work)
      : thread_([this, &work] {
          try {
            const FrozenView* const view = view_.get_future().get();
            done_.set_value(view == nullptr ? Result<void>() : work(*view));
          } catch (...) {
            done_.set_exception(std::current_exception());
          }
        }) {}
  ~Reader() {
    if (!has_begun_) view_.set_value(nullptr);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // None if it takes longer. Throws what the work throws.
  std::optional<Result<void>> run(const FrozenView& view, Clock::time_point until) {
    has_begun_ = true;
    view_.set_value(&view);
    if (end_.wait_until(until) == std::future_status::timeout) return std::nullopt;
    return end_.get();
  }

 private:
  std::promise<const FrozenView*> view_;
  std::promise<Result<void>> done_;
  std::future<Result<void>> end_ = done_.get_future();
  bool has_begun_ = false;
  std::jthread thread_;  // last member: joined before the others are destroyed
};

Error hangs(const FreezeOptions& options) {
  return {ErrorKind::Timeout, fmt::format("reading the target's memory did not finish (the target "
                                          "was held for {} ms, then released)",
                                          (options.budget + kHangPatience).count())};
}

Result<FreezeReport> freeze_here(const Process& process,
                                 const FreezeOptions& options,
                                 const Work& work,
                                 std::atomic<bool>& is_seizing,
                                 bool& is_refused) {
  std::optional<Reader> reader;
  if (options.reads_only) {
    try {
      reader.emplace(work);
    } catch (const std::system_error&) {
      // No thread available: read on this one.
    }
  }
  PtraceTracer tracer(process, is_seizing);
  auto freezing = FrozenProcess::freeze(tracer, options);
  if (freezing && !process.is_alive()) {
    freezing = Error{ErrorKind::Gone, "it exited while it was being stopped", ESRCH};
  }
  is_refused = !freezing;
  if (!freezing) {
    return std::move(freezing).error().context(fmt::format("freezing process {}", process.pid()));
  }
  FrozenProcess frozen = std::move(freezing).value();
  const FrozenView view{frozen.threads(), frozen.begin() + options.budget};
  const auto done =
      reader ? reader->run(view, view.deadline + kHangPatience) : std::optional(work(view));
  const FrozenProcess::Thaw thaw = frozen.thaw();
  const auto pause = Clock::now() - frozen.begin();
  if (!done) {
    give_up(hangs(options).message());
    return hangs(options);
  }
  if (!*done) return done->error();
  return FreezeReport{.threads = frozen.threads(),
                      .pause = pause,
                      .passes = frozen.passes(),
                      .rewound_calls = thaw.rewound};
}

// Other threads handle our signals: none may be handled between the stop and the release.
void block_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// Raises our priority, so that woken threads of the target and other busy processes do not run
// before us while some threads are still stopped. Does nothing without the privilege.
void hurry() noexcept {
  constexpr int kMostUrgent = -20;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kMostUrgent);
}

// A thread counts as joined shortly before the kernel releases its targets (do_exit: exit_mm comes
// before exit_notify). Its number vanishes after that.
void wait_until_vanished(pid_t tid) {
  const auto patience = Clock::now() + std::chrono::seconds(1);
  while (syscall(SYS_tgkill, getpid(), tid, 0) == 0 && Clock::now() < patience) sched_yield();
}

// Tries once. Sets `is_refused` if this fails before `work` begins: then no thread is traced.
Result<FreezeReport> try_freeze(const Process& process,
                                const FreezeOptions& options,
                                const Work& work,
                                bool& is_refused) {
  std::optional<Result<FreezeReport>> result;
  std::exception_ptr thrown;
  pid_t tracing_tid = 0;
  if (fault_at(FaultPoint::StartThread)) return os_error("starting the tracing thread", errno);
  std::atomic<bool> is_seizing{false};
  std::promise<void> at_end;
  const std::future<void> end = at_end.get_future();
  try {
    const std::jthread tracing([&] {
      block_signals();
      hurry();
      tracing_tid = gettid();
      // Unwinding to here releases the target. Without a handler, unwinding might not happen at
      // all.
      try {
        result = freeze_here(process, options, work, is_seizing, is_refused);
      } catch (...) {
        thrown = std::current_exception();
      }
      at_end.set_value();
    });
    while (end.wait_for(kSeizePatience) == std::future_status::timeout) {
      if (is_seizing.load(std::memory_order_relaxed)) reap_dead_threads(process);
    }
  } catch (const std::system_error& failed) {
    return os_error("starting the tracing thread", failed.code().value());
  }
  wait_until_vanished(tracing_tid);
  if (thrown) std::rethrow_exception(thrown);
  return *std::move(result);
}

}  // namespace

void add_own_numbers(const Process& process, std::vector<FrozenThread>& threads) {
  const auto status = process.read_file("status");
  if (!status || namespace_numbers(*status).size() < 2) return;
  for (FrozenThread& thread : threads) {
    thread.tid_in_namespace = number_in_target(process, thread.tid);
  }
}

Result<FreezeReport> while_frozen(const Process& process,
                                  const FreezeOptions& options,
                                  const Work& work) {
  OtherRuns others(options.deadline);
  for (;;) {
    bool is_refused = false;
    auto frozen = try_freeze(process, options, work, is_refused);
    const bool is_taken = !frozen && is_refused && frozen.error().kind == ErrorKind::Traced;
    if (is_taken && others.wait_for_turn(process)) continue;
    if (frozen) add_own_numbers(process, frozen->threads);
    return frozen;
  }
}

}  // namespace heapattach
