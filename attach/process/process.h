#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "attach/base/fd.h"
#include "attach/process/memory_map.h"
#include "attach/process/process_status.h"
#include "attach/process/thread_state.h"

namespace heapattach {

// The threads of a process, from one listing. It may already be out of date.
struct ThreadListing {
  std::vector<pid_t> tids;
  // False if a thread that started or ended during the listing may have hidden others; list again.
  bool is_whole = false;
};

// One process, and never a later one with the same pid: everything is opened relative to a
// descriptor of its /proc directory, which becomes invalid when the process ends.
//
// If its first thread has ended while others are alive, the kernel shows no maps, mem, exe, cwd or
// root in /proc/<pid>. Those files are then taken from the directory of a live thread.
class Process {
 public:
  // Gone if there is no such process or it is a zombie; Unsupported for a kernel thread, a 32-bit
  // program, a thread id or ourselves; Denied if /proc hides it from us.
  static Result<Process> open(pid_t pid);
  // A copy of a process that was opened. Opens no file but the kernel's: opening the program's may
  // have to wait for the original, which is stopped meanwhile.
  static Result<Process> open_copy(pid_t pid);

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::uint64_t start_ticks() const noexcept { return start_ticks_; }
  // The descriptor of /proc/<pid>.
  [[nodiscard]] const Fd& directory() const noexcept { return directory_; }

  // Opens or reads a file under /proc/<pid>, by relative path: "maps", "task/12/stat",
  // "root/lib/x.so". Gone if the process has exited.
  [[nodiscard]] Result<Fd> open_file(const std::string& name, int flags) const;
  [[nodiscard]] Result<std::string> read_file(const std::string& name) const;
  // The target of a link such as "exe" or "cwd".
  [[nodiscard]] Result<std::string> read_link(const std::string& name) const;

  [[nodiscard]] Result<MemoryMap> maps() const;
  [[nodiscard]] Result<ThreadListing> list_threads() const;
  [[nodiscard]] Result<ThreadState> thread_state(pid_t tid) const;
  [[nodiscard]] Result<ProcessStatus> thread_status(pid_t tid) const;
  // False once it has exited, even if its pid has been reused.
  [[nodiscard]] bool is_alive() const;
  // A thread that is alive: the first one if possible. Gone if there is none.
  [[nodiscard]] Result<pid_t> live_tid() const;

 private:
  Process(pid_t pid, Fd directory, Fd pidfd, std::uint64_t start_ticks) noexcept
      : pid_(pid),
        directory_(std::move(directory)),
        pidfd_(std::move(pidfd)),
        start_ticks_(start_ticks) {}

  [[nodiscard]] Result<std::string> live_name(const std::string& name) const;
  [[nodiscard]] Error explained(Error error) const;

  pid_t pid_;
  Fd directory_;
  Fd pidfd_;                   // empty on kernels before 5.3
  std::uint64_t start_ticks_;  // since boot; together with the pid, identifies the process
};

// Parses what `read` returns, retrying a few times until it is consistent. Used by
// Process::maps, which reads the maps file of `pid`.
Result<MemoryMap> read_maps(const std::function<Result<std::string>()>& read, pid_t pid);

}  // namespace heapattach
