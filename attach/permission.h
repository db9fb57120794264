#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "attach/process.h"

namespace heapattach {

// What the kernel checks when it decides whether one process may trace another: ptrace(2), "Ptrace
// access mode checking".
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

// Denied, with the rule that forbade it, and as advice the least that would lift it.
[[nodiscard]] Error explain_denied(const AccessFacts& facts);

// As far as they can be found out from outside. An unknown counts as no obstacle.
[[nodiscard]] AccessFacts access_facts(const Process& process);

// The error for a target that `tracer` traces already.
[[nodiscard]] Error traced_by(pid_t tracer);

// Whether a freeze would be allowed, without trying one: Denied with the reason, or Traced. The
// kernel applies the same check to opening its memory as to tracing it.
Result<void> check_may_trace(const Process& process);

}  // namespace heapattach
