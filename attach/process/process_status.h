#pragma once

#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include "attach/base/result.h"

namespace heapattach {

// The fields of /proc/<pid>/status (or task/<tid>/status) that we use: proc(5).
struct ProcessStatus {
  pid_t process = 0;  // Tgid; also 0 once the kernel has unlinked the thread
  pid_t tracer = 0;   // 0: none
  uid_t real_uid = 0;
  uid_t effective_uid = 0;
  uid_t saved_uid = 0;
  gid_t real_gid = 0;
  gid_t effective_gid = 0;
  gid_t saved_gid = 0;
  std::uint64_t pending_signals = 0;  // of the thread and of its process together
  std::uint64_t blocked_signals =
      0;  // at this moment; a call such as epoll_pwait changes them while it runs
  std::uint64_t effective_capabilities = 0;
  int seccomp_mode = 0;  // 0: none, 1: strict, 2: filter
};

// Members whose lines are missing or garbled stay 0; no kernel writes such lines.
ProcessStatus parse_process_status(std::string_view text);

// Checks that `pid` is a process id. A thread id also has a directory in /proc, although it is not
// listed there.
Result<void> check_is_process(pid_t pid, const ProcessStatus& status);

}  // namespace heapattach
