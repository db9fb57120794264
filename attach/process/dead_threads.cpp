#include "attach/process/dead_threads.h"

#include <sys/wait.h>

namespace heapattach {

namespace {

// Leaves all other events for the tracing thread to collect.
bool has_ended(pid_t tid) {
  siginfo_t news{};
  constexpr int kPeek = WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (waitid(P_PID, static_cast<id_t>(tid), &news, kPeek) != 0 || news.si_pid == 0) return false;
  return news.si_code == CLD_EXITED || news.si_code == CLD_KILLED || news.si_code == CLD_DUMPED;
}

}  // namespace

void reap_dead_threads(const Process& process) {
  const auto listing = process.list_threads();
  if (!listing) return;
  for (const pid_t tid : listing->tids) {
    // The first thread is its parent's to reap (we may be the parent), and execve does not wait for
    // its tracer.
    if (tid != process.pid() && has_ended(tid)) waitpid(tid, nullptr, __WALL | WNOHANG);
  }
}

}  // namespace heapattach
