#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/process/control_groups.h"
#include "attach/process/process.h"

namespace heapattach {

// The memory limit of one control group. The tightest limit of a process's groups applies.
struct GroupMemory {
  std::string path;
  // The bytes left below the limit, including memory that the kernel can drop at once.
  std::uint64_t free_bytes = 0;
  bool kills_all_together = false;  // memory.oom.group: the OOM killer kills the whole group
  bool is_ours = false;             // heapattach is in this group, too
};

// The memory that a clone of a process needs, and the memory available.
struct CloneFacts {
  std::uint64_t anonymous_bytes = 0;   // of the process: RssAnon
  std::uint64_t page_table_bytes = 0;  // VmPTE: the clone copies them at once
  std::uint64_t private_bytes = 0;    // writable address space that the kernel accounts for: VmData
  std::uint64_t available_bytes = 0;  // on the machine: MemAvailable
  bool commits_strictly = false;      // vm.overcommit_memory is 2
  std::uint64_t commit_left_bytes = 0;
  std::vector<GroupMemory> groups;
  bool makes_namespaces = false;   // its children start a pid namespace (unshare(2))
  bool shares_its_memory = false;  // the process shares it with its parent, as after vfork
  bool has_userfaults = false;     // a userfaultfd provides some of its memory
  bool has_huge_pages = false;     // private ones, of which the kernel has only so many
};

// An upper bound. We measured 11 to 13 ms per gigabyte in pages of 4 KiB, and less with huge pages.
[[nodiscard]] std::chrono::milliseconds estimated_clone_pause(const CloneFacts& facts);

// Returns why no clone should be tried, and what to do instead; nothing if one may be tried.
[[nodiscard]] std::optional<std::string> obstacle_to_clone(const CloneFacts& facts,
                                                           std::chrono::milliseconds longest);

// The memory that the recorder of a trace needs.
struct RecorderNeed {
  std::uint64_t target_bytes = 0;  // charged to the target's groups
  std::uint64_t own_bytes = 0;     // charged to ours
};

// Returns why no recorder should be put into the process; nothing if there is room for one. If a
// group goes beyond its limit, the target may be killed.
[[nodiscard]] std::optional<std::string> obstacle_to_recorder(const CloneFacts& facts,
                                                              const RecorderNeed& need);

// The memory that must stay free in each group and on the machine while a clone exists. With less
// than that, the clone is given up before the kernel has to choose a process to kill. The target
// keeps writing while the clone exits, and each first write to a page costs a page.
[[nodiscard]] std::uint64_t reserve_bytes(std::uint64_t anonymous_bytes);

// Checks whether that reserve is still free. Finds once where memory can run out.
class Headroom {
 public:
  // Watches the groups that `process` and its clone belong to.
  static Headroom of(const Process& process, const CloneFacts& facts);

  // Describes where less than the reserve is left, if anywhere.
  [[nodiscard]] std::optional<std::string> shortage() const;

 private:
  std::vector<GroupDirectory> groups_;
  std::uint64_t reserve_ = 0;
};

// Inspects the process, its control groups and the machine; stops nothing. An unknown fact counts
// as no obstacle.
Result<CloneFacts> clone_facts(const Process& process);

}  // namespace heapattach
