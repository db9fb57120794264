#include "inject/watch.h"

#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/base/fd.h"

namespace heapattach {

namespace {

constexpr int kMostUrgent = -20;
constexpr timespec kBetweenLooks{0, 1'000'000};
#ifndef SYS_process_mrelease
constexpr long kProcessMrelease = 448;
#else
constexpr long kProcessMrelease = SYS_process_mrelease;
#endif

// Gives the thread real-time priority, if we may. The watch matters most on a busy machine, and
// niceness counts only among the processes of our own session. The thread works for a few
// microseconds at a time.
void be_urgent() noexcept {
  sched_param priority{};
  priority.sched_priority = sched_get_priority_min(SCHED_FIFO);
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0) return;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kMostUrgent);
}

}  // namespace

void kill_and_release(pid_t pid) noexcept {
  const long opened = syscall(SYS_pidfd_open, pid, 0);
  const Fd pidfd(opened < 0 ? -1 : static_cast<int>(opened));
  // If we cannot free its memory (before Linux 5.15), the process should at least die quickly.
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid), kMostUrgent);
  ::kill(pid, SIGKILL);
  if (opened >= 0) syscall(kProcessMrelease, pidfd.get(), 0);
}

Result<std::unique_ptr<CloneWatch>> CloneWatch::start(Shortage shortage,
                                                      std::function<void(pid_t)> give_up) {
  std::unique_ptr<CloneWatch> watch(new CloneWatch());
  CloneWatch* const self = watch.get();
  try {
    self->thread_ =
        std::jthread([self, shortage = std::move(shortage), give_up = std::move(give_up)](
                         const std::stop_token& stop) { self->watch(stop, shortage, give_up); });
  } catch (const std::system_error& failed) {
    return os_error("starting the thread that watches the clone", failed.code().value());
  }
  return watch;
}

std::optional<std::string> CloneWatch::given_up() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void CloneWatch::watch(const std::stop_token& stop,
                       const Shortage& shortage,
                       const std::function<void(pid_t)>& give_up) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // other threads handle our signals
  be_urgent();
  while (!stop.stop_requested()) {
    const pid_t clone = clone_;
    if (auto reason = clone != 0 ? shortage() : std::nullopt) {
      {
        const std::lock_guard lock(mutex_);
        reason_ = std::move(reason);
      }
      give_up(clone);
      return;
    }
    nanosleep(&kBetweenLooks, nullptr);
  }
}

}  // namespace heapattach
