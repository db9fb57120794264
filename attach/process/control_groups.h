#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process/process.h"

// The control groups of a process, whose limits apply to it.
namespace heapattach {

struct GroupDirectory {
  std::string path;
  bool is_version_2 = false;
};

// The directories of a process's groups that have `controller`, from the text of
// /proc/<pid>/cgroup and of /proc/self/mounts: its own directory and those above it, up to the
// mount point, which in a container is the container's group.
[[nodiscard]] std::vector<GroupDirectory> control_groups(std::string_view controller,
                                                         std::string_view cgroup,
                                                         std::string_view mounts);
[[nodiscard]] std::vector<GroupDirectory> control_groups(std::string_view controller,
                                                         const Process& process);

// How much of a limit is used. A process without the limit has none.
struct LimitedUse {
  std::uint64_t used = 0;
  std::optional<std::uint64_t> limit{};

  // Whether at least `percent` of the limit are used.
  [[nodiscard]] bool is_near(unsigned percent) const {
    return limit && *limit != 0 && used >= *limit / 100 * percent + *limit % 100 * percent / 100;
  }
};

[[nodiscard]] LimitedUse memory_use(const GroupDirectory& group);
// The same without what the kernel drops before anything fails, if there is a limit.
[[nodiscard]] LimitedUse memory_use_that_stays(const GroupDirectory& group);
[[nodiscard]] LimitedUse task_use(const GroupDirectory& group);
// Whether the group is frozen, or one around it: nothing in it runs. A directory of another
// controller is not.
[[nodiscard]] bool is_frozen(const GroupDirectory& group);
// The groups of this process.
[[nodiscard]] std::vector<GroupDirectory> own_control_groups(std::string_view controller);
// How much memory this process can still take: of what is available on the machine, and below the
// limits of its groups. 0 if that is not known.
[[nodiscard]] std::uint64_t memory_left();
// The part of the memory in use that the kernel drops first: files that were not read lately.
[[nodiscard]] std::uint64_t droppable_bytes(const GroupDirectory& group);

}  // namespace heapattach
