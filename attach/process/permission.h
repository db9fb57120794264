#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "attach/process/process.h"

namespace heapattach {

// The facts by which the kernel decides whether one process may trace another: see ptrace(2),
// "Ptrace access mode checking".
struct AccessFacts {
  uid_t our_uid = 0;
  uid_t target_uid = 0;
  bool has_same_ids = true;     // all of the target's user and group ids are ours
  bool has_capability = false;  // CAP_SYS_PTRACE
  bool has_same_user_namespace = true;
  bool is_dumpable = true;
  std::optional<int> yama_scope;  // none: the kernel has no Yama
  bool is_filtered = false;       // a seccomp filter applies to us
};

// A Denied error that names the rule that forbids tracing. The advice is the smallest change that
// would allow it.
[[nodiscard]] Error explain_denied(const AccessFacts& facts);

// Collects these facts as far as they are visible from outside. An unknown fact counts as no
// obstacle.
[[nodiscard]] AccessFacts access_facts(const Process& process);

// The error for a target that `tracer` traces already.
[[nodiscard]] Error traced_by(pid_t tracer);

// Checks whether a freeze would be allowed, without trying one. Denied with the reason, or Traced.
// The kernel applies the same check to opening the process's memory as to tracing it.
Result<void> check_may_trace(const Process& process);

// Whether we may read the seccomp filters of other processes. It takes CAP_SYS_ADMIN outside of
// containers, and no filter of our own.
[[nodiscard]] bool may_read_filters();

}  // namespace heapattach
