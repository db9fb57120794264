#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace heapattach {

// The fields of /proc/<pid>/stat (or task/<tid>/stat) that we use: proc(5).
struct ThreadState {
  std::string name;  // chosen by the target: any bytes
  char state = '?';  // R running, S sleeping, D uninterruptible, T stopped, t traced, Z zombie, …
  pid_t parent = 0;
  std::uint64_t flags = 0;  // PF_… of the kernel
  std::uint64_t threads = 0;
  std::uint64_t user_ticks = 0;  // of processor time
  std::uint64_t system_ticks = 0;
  std::uint64_t start_ticks = 0;  // since boot

  [[nodiscard]] bool is_exiting() const { return state == 'Z' || state == 'X' || state == 'x'; }
  [[nodiscard]] bool is_kernel_thread() const { return (flags & 0x00200000) != 0; }  // PF_KTHREAD
};

// The name may contain spaces, parentheses and newlines: ") R 1" is a valid name. Malformed if the
// text is cut off.
Result<ThreadState> parse_thread_state(std::string_view stat);

}  // namespace heapattach
