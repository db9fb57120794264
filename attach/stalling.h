#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "attach/fd.h"
#include "attach/process.h"

namespace heapattach {

// Memory of a process that another process provides, and may never provide: memory registered with
// a userfaultfd, and files that a process (FUSE) or another machine serves. Reading an absent page
// of it sleeps in the kernel. Pages that are present can be read.
class StallingMemory {
 public:
  StallingMemory() = default;
  // As far as can be found out; the guardian handles the rest.
  static StallingMemory of(const Process& process);
  struct Mapped {
    Range range;
    bool has_userfaults = false;  // otherwise it maps a served file
  };
  // `sorted` has no overlaps; `pagemap` is that of the process.
  StallingMemory(std::vector<Mapped> sorted, Fd pagemap)
      : mapped_(std::move(sorted)), pagemap_(std::move(pagemap)) {}

  [[nodiscard]] bool empty() const { return mapped_.empty(); }

  // How many bytes of `parts` are registered with a userfaultfd. An absent page of a file was never
  // written to, so it is not a loss.
  [[nodiscard]] std::uint64_t userfault_bytes(const std::vector<Range>& parts) const;

  // The longest prefix of a range in which all or none of the bytes may be read.
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

// The mappings in the text of /proc/<pid>/smaps that are registered with a userfaultfd, from their
// VmFlags (Documentation/filesystems/proc.rst).
[[nodiscard]] std::vector<Range> userfault_ranges(std::string_view smaps);

// The devices in the text of /proc/<pid>/mountinfo whose files a process or another machine serves.
[[nodiscard]] std::set<std::uint64_t> served_devices(std::string_view mountinfo);

// Whether the text of /proc/slabinfo leaves room for a userfaultfd anywhere on this machine.
[[nodiscard]] bool has_userfaultfd(std::string_view slabinfo);

}  // namespace heapattach
