#include "attach/base/guardian.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/interrupt.h"
#include "attach/base/needed_time.h"

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long the work may exceed its deadline, to stop by itself and report it.
constexpr milliseconds kLatePatience{800};
// How long to wait after a signal, when partial results may still have to be written.
constexpr milliseconds kAskedPatience{2000};
// Work that is late because it gets no processor may take this much longer. It is recognised by
// using some processor time, but not much: hanging work uses none, looping work uses all it can
// get.
constexpr std::chrono::seconds kStarvedPatience{5};
constexpr milliseconds kStarvedUse{400};
constexpr milliseconds kBetweenLooks{300};
constexpr milliseconds kLeastUse{
    10};  // the range between the two; next to hanging work, another thread may poll
// How long the work may take, after a second signal, to put back what it has changed elsewhere; and
// how often to look whether it has.
constexpr std::chrono::seconds kRestorePatience{20};
constexpr milliseconds kBetweenRestoreLooks{10};
// How long a killed process may take to die.
constexpr milliseconds kDeathPatience{500};

// In memory that both processes share. The workers in the sandbox do not have it.
struct Shared {
  std::atomic<Clock::rep> deadline{0};
  std::atomic<Clock::rep> undisturbed_until{0};
  std::atomic<int> status{-1};  // what the work returned
  std::atomic<bool> has_given_up{false};
  std::atomic<int> to_restore{0};  // UntilRestored objects
  std::array<char, 512> why{};
};
static_assert(std::atomic<Clock::rep>::is_always_lock_free);

Shared* shared_page = nullptr;  // null without a guardian
pid_t guarded_pid = 0;
pid_t guardian = 0;

// Null in the workers of the sandbox too.
Shared* guarded() noexcept {
  return shared_page != nullptr && getpid() == guarded_pid ? shared_page : nullptr;
}

Clock::time_point time_of(const std::atomic<Clock::rep>& ticks) {
  return Clock::time_point(Clock::duration(ticks.load()));
}

Shared* make_shared_page() {
  void* const page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Shared;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// The signals that the guardian waits for, blocked until it ends.
class Signals {
 public:
  Signals() {
    std::signal(SIGCHLD, SIG_DFL);  // a process that ignores it cannot learn how a child ended
    sigemptyset(&waited_);
    sigaddset(&waited_, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM}) {
      if (!is_ignored(signal)) sigaddset(&waited_, signal);
    }
    sigprocmask(SIG_BLOCK, &waited_, &before_);
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // SIGINT or SIGTERM, or 0 if it may be time to check.
  [[nodiscard]] int wait_until(Clock::time_point until) const {
    const auto left = std::clamp<Clock::duration>(until - Clock::now(), Clock::duration(0),
                                                  std::chrono::hours(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{
        seconds.count(),
        std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
    const int signal = sigtimedwait(&waited_, nullptr, &time);
    return signal == SIGINT || signal == SIGTERM ? signal : 0;
  }

 private:
  sigset_t waited_{};
  sigset_t before_{};
};

[[noreturn]] void be_guarded(Shared* shared,
                             const Signals& signals,
                             pid_t parent,
                             const std::function<int()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  madvise(shared, sizeof(Shared), MADV_DONTFORK);
  shared_page = shared;
  guarded_pid = getpid();
  guardian = parent;
  install_interrupt_handlers(parent);
  signals.restore();
  const int status = work();
  shared->status.store(status);
  std::exit(status);
}

// Waits for the child, and ends it in time.
class Guardian {
 public:
  Guardian(pid_t child, const Shared& shared, const Signals& signals)
      : child_(child), shared_(shared), signals_(signals) {}

  GuardedEnd watch() {
    while (!has_ended() && !shared_.has_given_up.load() && may_go_on()) {
      const int signal = signals_.wait_until(look_at_);
      if (signal == 0 || end_.signal) continue;
      if (end_.asked_by) {
        end_.signal = signal;
        restored_by_ = Clock::now() + kRestorePatience;
        continue;
      }
      end_.asked_by = signal;
      asked_at_ = Clock::now();
      kill(child_, signal);
    }
    make_end();
    return std::move(end_);
  }

 private:
  // Returns whether the work may continue until the next check, at `look_at_`.
  bool may_go_on() {
    const auto now = Clock::now();
    if (end_.signal) {
      look_at_ = now + kBetweenRestoreLooks;
      return shared_.to_restore.load() > 0 && now < restored_by_;
    }
    const auto due = end_.asked_by ? asked_at_ : time_of(shared_.deadline);
    const bool is_restoring = end_.asked_by && shared_.to_restore.load() > 0;
    const auto patience = is_restoring    ? std::chrono::milliseconds(kRestorePatience)
                          : end_.asked_by ? std::chrono::milliseconds(kAskedPatience)
                                          : std::chrono::milliseconds(kLatePatience);
    const auto limit = std::max(due + patience, time_of(shared_.undisturbed_until));
    if (now < due) {
      look_at_ = due;
      used_before_.reset();
      return true;
    }
    if (!used_before_) used_before_ = processor_time();
    if (now < limit) {
      look_at_ = limit;
      return true;
    }
    look_at_ = now + kBetweenLooks;
    const auto used = processor_time() - *used_before_;
    const bool is_starved = used > used_late_ + kLeastUse && used < kStarvedUse;
    used_late_ = used;
    return is_starved && now < limit + kStarvedPatience;
  }

  [[nodiscard]] std::chrono::nanoseconds processor_time() const {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }

  bool has_ended() {
    if (is_reaped_) return true;
    int status = 0;
    const pid_t got = waitpid(child_, &status, WNOHANG);
    if (got != child_) return false;
    is_reaped_ = true;
    if (WIFEXITED(status) && !shared_.has_given_up.load()) end_.status = WEXITSTATUS(status);
    if (WIFSIGNALED(status) && !was_killed_) end_.signal = WTERMSIG(status);
    return true;
  }

  void make_end() {
    if (!has_ended()) {
      was_killed_ = true;
      kill(child_, SIGKILL);
      const auto until = Clock::now() + kDeathPatience;
      while (!has_ended() && Clock::now() < until) {
        static_cast<void>(signals_.wait_until(Clock::now() + milliseconds(20)));
      }
      end_.is_left = !is_reaped_;
      // It had finished; only freeing its memory took long.
      if (const int status = shared_.status.load(); status >= 0) end_.status = status;
    }
    if (!shared_.has_given_up.load()) return;
    end_.why.assign(shared_.why.data(), strnlen(shared_.why.data(), shared_.why.size()));
  }

  pid_t child_;
  const Shared& shared_;
  const Signals& signals_;
  GuardedEnd end_;
  Clock::time_point asked_at_;
  Clock::time_point restored_by_;  // after a second signal
  Clock::time_point look_at_;
  std::optional<std::chrono::nanoseconds> used_before_;  // processor time, when it was due
  std::chrono::nanoseconds used_late_{};                 // since then, at the last check
  bool was_killed_ = false;
  bool is_reaped_ = false;
};

GuardedEnd run_unguarded(const std::function<int()>& work) {
  install_interrupt_handlers();
  GuardedEnd end;
  end.status = work();
  return end;
}

}  // namespace

GuardedEnd run_guarded(Clock::time_point deadline, const std::function<int()>& work) {
  Shared* const shared = make_shared_page();
  if (shared == nullptr) return run_unguarded(work);
  shared->deadline.store(deadline.time_since_epoch().count());
  const pid_t parent = getpid();
  pid_t child = -1;
  {
    const Signals signals;
    child = fork();
    if (child == 0) be_guarded(shared, signals, parent, work);
    if (child > 0) return Guardian(child, *shared, signals).watch();
  }
  return run_unguarded(work);
}

void set_guarded_deadline(Clock::time_point deadline) noexcept {
  if (Shared* const shared = guarded()) {
    shared->deadline.store(deadline.time_since_epoch().count());
  }
}

void need_time(milliseconds time) noexcept {
  Shared* const shared = guarded();
  if (shared == nullptr) return;
  const Clock::rep until = (Clock::now() + time).time_since_epoch().count();
  shared->undisturbed_until.store(std::max(until, shared->undisturbed_until.load()));
}

NeededTime::NeededTime(milliseconds time) noexcept {
  if (const Shared* const shared = guarded()) before_ = shared->undisturbed_until.load();
  need_time(time);
}
NeededTime::~NeededTime() {
  if (Shared* const shared = guarded()) shared->undisturbed_until.store(before_);
}

UntilRestored::UntilRestored() noexcept {
  if (Shared* const shared = guarded()) shared->to_restore.fetch_add(1);
}
UntilRestored::~UntilRestored() {
  if (Shared* const shared = guarded()) shared->to_restore.fetch_sub(1);
}

void give_up(std::string_view why) noexcept {
  Shared* const shared = guarded();
  if (shared == nullptr) return;
  const std::size_t length = std::min(why.size(), shared->why.size() - 1);
  std::memcpy(shared->why.data(), why.data(), length);
  shared->has_given_up.store(true);
  // Until all threads are dead, nothing else notifies it.
  kill(guardian, SIGCHLD);
  _exit(1);
}

pid_t guardian_pid() noexcept {
  return guardian;
}

}  // namespace heapattach
