#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/memory/stalling.h"
#include "attach/memory/untouched.h"
#include "attach/process/process.h"

namespace heapattach {

// Reads the memory of a live process with process_vm_readv in large batches, or through
// /proc/<pid>/mem if that is refused. Never waits for a page that another process must provide;
// such pages count as unreadable. Long ranges that the process never touched are not read.
class LiveMemory final : public MemoryReader {
 public:
  static Result<Fd> open_mem(const Process& process);
  enum class By : std::uint8_t {
    ProcessVmReadv,
    // /proc/<pid>/mem only. In a clone, process_vm_readv pins every page that it reads, and so
    // makes the kernel copy it.
    MemFile,
  };
  // `mem` comes from open_mem. It keeps referring to the current program, even after an execve.
  LiveMemory(const Process& process, Fd mem, By by = By::ProcessVmReadv);

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override;

  // Memory that another process must provide.
  [[nodiscard]] const StallingMemory& stalling() const { return stalling_; }

  // Copies with `limits.workers` threads. Also fails with Interrupted.
  Result<std::vector<Range>> copy_all(std::span<const Copy> copies,
                                      const CopyLimits& limits) const override;

 private:
  class Worker;

  Result<std::vector<Copy>> readable_parts(std::span<const Copy> copies,
                                           const CopyLimits& limits,
                                           std::vector<Range>& holes) const;
  std::size_t add_touched(RemoteAddr from,
                          std::span<std::byte> into,
                          std::vector<Copy>& readable) const;
  Result<std::size_t> read_touched(RemoteAddr from, std::span<std::byte> into) const;
  Result<std::size_t> read_mem(RemoteAddr from, std::span<std::byte> into) const;

  pid_t tid_;  // a thread that was alive on construction: see Process::live_tid
  Fd mem_;
  StallingMemory stalling_;
  UntouchedMemory untouched_;
  mutable std::atomic<bool> use_vm_readv_;
};

}  // namespace heapattach
