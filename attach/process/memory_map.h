#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/page.h"
#include "attach/base/remote_addr.h"
#include "attach/base/result.h"

namespace heapattach {

// One line of /proc/<pid>/maps.
struct Mapping {
  Range range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool is_private = true;
  std::uint64_t file_offset = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string path;  // as the kernel wrote it, unescaped, without " (deleted)"; "[heap]"
  bool is_deleted = false;

  // Not backed by a file: heap, stacks, bss and anonymous mmap. Some file systems have a file whose
  // inode is 0, and so has a segment of System V's shared memory.
  [[nodiscard]] bool is_anonymous() const { return inode == 0 && device == 0; }
};

// The mappings of a process at one moment, sorted by address, without overlaps.
class MemoryMap {
 public:
  MemoryMap() = default;
  // `page_bytes` is the page size of the machine that the process runs on, or ran on.
  explicit MemoryMap(std::vector<Mapping> sorted,
                     std::uint64_t page_bytes = heapattach::page_bytes())
      : mappings_(std::move(sorted)), page_bytes_(page_bytes) {}

  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  // The mapping that contains `at`, or null.
  [[nodiscard]] const Mapping* find(RemoteAddr at) const;
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

 private:
  std::vector<Mapping> mappings_;
  std::uint64_t page_bytes_ = heapattach::page_bytes();
};

// Parses the text of /proc/<pid>/maps. Fails with Malformed, which names the line.
Result<MemoryMap> parse_maps(std::string_view text);

}  // namespace heapattach
