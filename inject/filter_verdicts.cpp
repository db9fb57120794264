#include "inject/filter_verdicts.h"

#include <algorithm>
#include <span>
#include <tuple>

#include <sys/syscall.h>

#include "attach/sandbox/filter_effect.h"

namespace heapattach {

namespace {

// The system calls that a borrowed thread makes for us, and those that we make in the clone. A call
// of the first list may fail; we report that. The calls of the second list must run: they take the
// thread back to where it was, keep the clone away from the target's files, and leave nothing of
// ours in the target. A function that the clone runs may make any call, because it endangers only
// the clone.
constexpr long kCalls[] = {SYS_clone,
                           SYS_mmap,
                           SYS_madvise,
                           SYS_memfd_create,
                           SYS_getpid,
                           SYS_prctl,
                           SYS_nanosleep,
                           SYS_setsid,
                           SYS_openat,
                           SYS_prlimit64,
                           SYS_mprotect,
                           SYS_capget,
                           SYS_capset,
                           SYS_seccomp,
                           SYS_pipe2,
                           SYS_fcntl,
                           SYS_socketpair,
                           SYS_recvmsg,
                           SYS_landlock_create_ruleset,
                           SYS_landlock_add_rule,
                           SYS_landlock_restrict_self};
constexpr long kCallsThatMustRun[] = {SYS_rt_sigprocmask, SYS_restart_syscall, SYS_close_range,
                                      SYS_exit_group,     SYS_wait4,           SYS_munmap,
                                      SYS_close};

Filters verdict_on(const SeccompFilter& filter) {
  const auto worst = [&](std::span<const long> calls) {
    FilterEffect effect = FilterEffect::Runs;
    for (const long call : calls) effect = std::max(effect, effect_of(filter, call));
    return effect;
  };
  const bool is_harmless =
      worst(kCalls) <= FilterEffect::MayFail && worst(kCallsThatMustRun) == FilterEffect::Runs;
  return is_harmless ? Filters::Harmless : Filters::MayHarm;
}

}  // namespace

bool FilterVerdicts::Before::operator()(const SeccompFilter& a, const SeccompFilter& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const sock_filter& one, const sock_filter& other) {
                                        return std::tie(one.code, one.jt, one.jf, one.k) <
                                               std::tie(other.code, other.jt, other.jf, other.k);
                                      });
}

Filters FilterVerdicts::judge(const std::vector<SeccompFilter>& filters) {
  Filters worst = Filters::Harmless;
  for (const SeccompFilter& filter : filters) {
    const auto [known, is_new] = known_.try_emplace(filter, Filters::MayHarm);
    if (is_new) known->second = verdict_on(filter);
    worst = std::max(worst, known->second);
  }
  if (worst == Filters::MayHarm) ++harmed_threads_;
  return worst;
}

}  // namespace heapattach
