#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process.h"

namespace heapattach {

// What a control group allows in memory; the narrowest of a process's groups counts.
struct GroupMemory {
  std::string path;
  std::uint64_t free_bytes = 0;     // up to the limit, with what the kernel can drop at once
  bool kills_all_together = false;  // memory.oom.group: its OOM killer spares nobody
};

// Where the memory groups of a process lie, from the text of /proc/<pid>/cgroup and of
// /proc/self/mounts: its own directory and those above it, up to the mount point.
struct GroupDirectory {
  std::string path;
  bool is_version_2 = false;
};
[[nodiscard]] std::vector<GroupDirectory> memory_groups(std::string_view cgroup,
                                                        std::string_view mounts);

// What a clone of a process would need, and what there is.
struct CloneFacts {
  std::uint64_t anonymous_bytes = 0;   // that are its own: RssAnon
  std::uint64_t page_table_bytes = 0;  // VmPTE: what the clone copies at once
  std::uint64_t private_bytes = 0;    // writable address space that the kernel accounts for: VmData
  std::uint64_t available_bytes = 0;  // on the machine: MemAvailable
  bool commits_strictly = false;      // vm.overcommit_memory is 2
  std::uint64_t commit_left_bytes = 0;
  std::vector<GroupMemory> groups;
  bool makes_namespaces = false;   // its children begin a pid namespace (unshare(2))
  bool shares_its_memory = false;  // with its parent, as between vfork and execve
  bool has_userfaults = false;     // some of its memory is provided through a userfaultfd
};

// Measured at 11 to 13 ms for a gigabyte in pages of 4 KiB; huge pages take less. An upper bound.
[[nodiscard]] std::chrono::milliseconds estimated_clone_pause(const CloneFacts& facts);

// Why no clone should be tried, and what to do instead; nothing if one may.
[[nodiscard]] std::optional<std::string> obstacle_to_clone(const CloneFacts& facts,
                                                           std::chrono::milliseconds longest);

// What must be left in each group and on the machine while a clone lives: it is given up before the
// kernel would have to choose somebody to kill. The target writes on while the clone goes, and each
// first write to a page costs one.
[[nodiscard]] std::uint64_t reserve_bytes(std::uint64_t anonymous_bytes);

// What has become of that reserve: the places where memory can run out, found once.
class Headroom {
 public:
  // Of the places where `process` and its clone are counted.
  static Headroom of(const Process& process, const CloneFacts& facts);

  // Where less than the reserve is left, in words; nothing if nowhere.
  [[nodiscard]] std::optional<std::string> shortage() const;

 private:
  std::vector<GroupDirectory> groups_;
  std::uint64_t reserve_ = 0;
};

// Looks at the process, its control groups and the machine; stops nothing. What cannot be found out
// is left as if it were no obstacle.
Result<CloneFacts> clone_facts(const Process& process);

// The number behind `key`, as in "VmPTE:     12 kB", in bytes; none if there is no such line.
[[nodiscard]] std::optional<std::uint64_t> bytes_of_line(std::string_view text,
                                                         std::string_view key);

}  // namespace heapattach
