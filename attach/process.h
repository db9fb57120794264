#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "attach/fd.h"
#include "attach/memory_map.h"

namespace heapattach {

// One process, never its successor under the same number: everything is opened below a descriptor
// of its /proc directory, which goes stale with it.
class Process {
 public:
  // Gone if there is none; Unsupported for a kernel thread, a zombie or ourselves.
  static Result<Process> open(pid_t pid);

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::uint64_t start_ticks() const noexcept { return start_ticks_; }
  // The descriptor of /proc/<pid>.
  [[nodiscard]] const Fd& directory() const noexcept { return directory_; }

  // Opens or reads a file of /proc/<pid>, named relatively: "maps", "task/12/stat",
  // "root/lib/x.so".
  [[nodiscard]] Result<Fd> open_file(const std::string& name, int flags) const;
  [[nodiscard]] Result<std::string> read_file(const std::string& name) const;
  // The target of a link such as "exe" or "cwd".
  [[nodiscard]] Result<std::string> read_link(const std::string& name) const;

  [[nodiscard]] Result<MemoryMap> maps() const;
  // False once it exited, even if its number was given to another.
  [[nodiscard]] bool is_alive() const;

 private:
  Process(pid_t pid, Fd directory, Fd pidfd, std::uint64_t start_ticks) noexcept
      : pid_(pid),
        directory_(std::move(directory)),
        pidfd_(std::move(pidfd)),
        start_ticks_(start_ticks) {}

  pid_t pid_;
  Fd directory_;
  Fd pidfd_;
  std::uint64_t start_ticks_;  // since boot; with the pid, the identity
};

}  // namespace heapattach
