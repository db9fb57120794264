#pragma once

#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include "attach/result.h"

namespace heapattach {

// The fields of /proc/<pid>/status (or task/<tid>/status) that we use: proc(5).
struct ProcessStatus {
  pid_t process = 0;  // Tgid; also 0 once the kernel has taken the thread off its tables
  pid_t tracer = 0;   // 0: none
  uid_t real_uid = 0;
  uid_t effective_uid = 0;
  uid_t saved_uid = 0;
  gid_t real_gid = 0;
  gid_t effective_gid = 0;
  gid_t saved_gid = 0;
  std::uint64_t pending_signals = 0;  // of the thread and of its process together
  std::uint64_t blocked_signals =
      0;  // at this moment; a call such as epoll_pwait changes it while it lasts
  std::uint64_t effective_capabilities = 0;
  int seccomp_mode = 0;  // 0: none, 1: strict, 2: filter
};

// Missing or garbled lines leave their members at 0: no kernel writes such lines.
ProcessStatus parse_process_status(std::string_view text);

// Whether `pid` names a process: a thread's number also has a directory in /proc, though it is not
// listed there.
Result<void> check_is_process(pid_t pid, const ProcessStatus& status);

}  // namespace heapattach
