#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attach/process/memory_map.h"
#include "attach/process/process.h"

// Measures how much of a process's memory is resident, and where: per mapping from
// proc_pid_smaps(5), and for parts of a mapping from the kernel's pagemap
// (Documentation/admin-guide/mm/pagemap.rst).
namespace heapattach {

struct ResidentMapping {
  Mapping mapping;
  std::uint64_t resident_bytes = 0;  // "Rss"
};

// Parses the text of /proc/<pid>/smaps. Fails with Malformed, which names the line.
Result<std::vector<ResidentMapping>> parse_smaps(std::string_view text);

// The state of one page. The zero page, which reads of untouched memory map, counts as present here
// but not in "Rss". With our permissions it looks like a page shared with a child, but it is never
// the process's own.
struct PageState {
  bool is_present = false;
  bool is_own = false;      // mapped by this process alone
  bool is_swapped = false;  // its contents are on disk; reading brings them back
  bool is_of_file = false;  // the contents of a file or of shared memory
};

// Bits of an entry of pagemap.
[[nodiscard]] PageState page_state(std::uint64_t entry);

// Whether it has contents that reading would not create.
[[nodiscard]] inline bool is_used(const PageState& page) {
  return page.is_present || page.is_swapped;
}

// One entry for each page that `range` overlaps, in order; pages outside the address space count as
// absent.
Result<std::vector<PageState>> read_pages(const Process& process, Range range);

}  // namespace heapattach
