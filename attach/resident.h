#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attach/memory_map.h"
#include "attach/process.h"
#include "attach/x86_64.h"

// How much of a process's memory is in memory, and where: proc_pid_smaps(5), and for parts of a
// mapping the kernel's pagemap (Documentation/admin-guide/mm/pagemap.rst).
namespace heapattach {

struct ResidentMapping {
  Mapping mapping;
  std::uint64_t resident_bytes = 0;  // "Rss"
};

// Parses the text of /proc/<pid>/smaps. Malformed names the line.
Result<std::vector<ResidentMapping>> parse_smaps(std::string_view text);

// What the kernel says of one page. The page of zeros that untouched memory is read as counts as
// present here and not in "Rss"; it cannot be told from a page shared with a child by the rights
// that we have, but never is the process's own.
struct PageState {
  bool is_present = false;
  bool is_own = false;  // mapped by this process alone
};

// Of each page of `range`, in order; what lies beyond is not present.
Result<std::vector<PageState>> read_pages(const Process& process, Range range);

}  // namespace heapattach
