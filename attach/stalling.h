#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "attach/fd.h"
#include "attach/process.h"

namespace heapattach {

// The memory of a process that somebody else provides, and may never provide: what is registered
// with a userfaultfd, and files of a file system that a process (FUSE) or another machine serves.
// Who reads a page of it that is not there sleeps in the kernel. Pages that are there can be read.
class StallingMemory {
 public:
  StallingMemory() = default;
  // As far as it can be learned: what this misses is for the guardian.
  static StallingMemory of(const Process& process);
  struct Mapped {
    Range range;
    bool has_userfaults = false;  // or else it is of a served file
  };
  // `sorted` does not overlap; `pagemap` is that of the process.
  StallingMemory(std::vector<Mapped> sorted, Fd pagemap)
      : mapped_(std::move(sorted)), pagemap_(std::move(pagemap)) {}

  [[nodiscard]] bool empty() const { return mapped_.empty(); }

  // How many bytes of `parts` are registered with a userfaultfd. What is not there of a file has
  // never been written to, and is no loss.
  [[nodiscard]] std::uint64_t userfault_bytes(const std::vector<Range>& parts) const;

  // The first bytes of a range, up to where it changes whether they may be read.
  struct Part {
    std::uint64_t bytes = 0;  // 0 only of an empty range
    bool may_stall = false;
  };
  [[nodiscard]] Part first_part(Range range) const;

 private:
  [[nodiscard]] Part part_within(const Mapped& mapped, Range range) const;

  std::vector<Mapped> mapped_;
  Fd pagemap_;  // empty: nothing is known to be there
};

// Whether a process has memory that is registered with a userfaultfd.
[[nodiscard]] bool has_userfaults(const Process& process);

// The mappings of the text of /proc/<pid>/smaps that are registered with a userfaultfd, by their
// VmFlags (Documentation/filesystems/proc.rst).
[[nodiscard]] std::vector<Range> userfault_ranges(std::string_view smaps);

// The devices in the text of /proc/<pid>/mountinfo whose files are served by a process or another
// machine.
[[nodiscard]] std::set<std::uint64_t> served_devices(std::string_view mountinfo);

// Whether the text of /proc/slabinfo allows for a userfaultfd anywhere on this machine.
[[nodiscard]] bool has_userfaultfd(std::string_view slabinfo);

}  // namespace heapattach
