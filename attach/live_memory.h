#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "attach/memory_reader.h"
#include "attach/process.h"

namespace heapattach {

// The memory of a live process: process_vm_readv in large batches, or /proc/<pid>/mem where that is
// refused.
class LiveMemory final : public MemoryReader {
 public:
  static Result<Fd> open_mem(const Process& process);
  LiveMemory(const Process& process, Fd mem) noexcept;

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override;

  // On `limits.workers` threads.
  Result<std::vector<Range>> copy_all(std::span<const Copy> copies,
                                      const CopyLimits& limits) const override;

 private:
  pid_t pid_;
  Fd mem_;
  mutable std::atomic<bool> use_vm_readv_{true};
};

}  // namespace heapattach
