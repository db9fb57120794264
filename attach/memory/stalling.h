#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "attach/base/fd.h"
#include "attach/process/process.h"

namespace heapattach {

// Memory of a process that another process must provide, and may never provide: memory registered
// with a userfaultfd, and files served by a process (FUSE) or by another machine. Reading an absent
// page of it blocks in the kernel. Pages that are present can be read.
class StallingMemory {
 public:
  StallingMemory() = default;
  // Finds what it can; the guardian handles the rest.
  static StallingMemory of(const Process& process);
  struct Mapped {
    Range range;
    bool has_userfaults = false;  // otherwise a mapping of a served file
  };
  // `sorted` has no overlaps. `pagemap` is the process's.
  StallingMemory(std::vector<Mapped> sorted, Fd pagemap)
      : mapped_(std::move(sorted)), pagemap_(std::move(pagemap)) {}

  [[nodiscard]] bool empty() const { return mapped_.empty(); }

  // How many bytes of `parts` are registered with a userfaultfd. Absent pages of a file do not
  // count: they were never written to, so nothing is lost.
  [[nodiscard]] std::uint64_t userfault_bytes(const std::vector<Range>& parts) const;

  // The longest prefix of a range in which either all bytes or none can be read safely.
  struct Part {
    std::uint64_t bytes = 0;  // 0 only of an empty range
    bool may_stall = false;
  };
  [[nodiscard]] Part first_part(Range range) const;

 private:
  [[nodiscard]] Part part_within(const Mapped& mapped, Range range) const;

  std::vector<Mapped> mapped_;
  Fd pagemap_;  // empty: no page is known to be present
};

// Whether a process has memory that is registered with a userfaultfd.
[[nodiscard]] bool has_userfaults(const Process& process);

// The mappings in the text of /proc/<pid>/smaps that have one of these VmFlags, such as "dc".
[[nodiscard]] std::vector<Range> ranges_with_flags(std::string_view smaps,
                                                   std::span<const std::string_view> flags);

// The mappings in the text of /proc/<pid>/smaps that are registered with a userfaultfd, from their
// VmFlags (Documentation/filesystems/proc.rst).
[[nodiscard]] std::vector<Range> userfault_ranges(std::string_view smaps);

// The devices whose files are served by a process or another machine, from the text of
// /proc/<pid>/mountinfo.
[[nodiscard]] std::set<std::uint64_t> served_devices(std::string_view mountinfo);

// Whether there may be a userfaultfd anywhere on this machine, from the text of /proc/slabinfo.
[[nodiscard]] bool has_userfaultfd(std::string_view slabinfo);

}  // namespace heapattach
