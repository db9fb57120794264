#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process/process.h"

// What the kernel says about a process besides its memory and its threads: how near it is to its
// limits. Nothing is stopped for it.
namespace heapattach::diagnose {

// How much of a limit is used. A process without the limit has none.
struct Use {
  std::uint64_t used = 0;
  std::optional<std::uint64_t> limit{};

  // Whether at least `percent` of the limit are used.
  [[nodiscard]] bool is_near(unsigned percent) const {
    return limit && *limit != 0 && used >= *limit / 100 * percent + *limit % 100 * percent / 100;
  }
};

// Descriptors of one kind: of a file by its path, otherwise "socket", "pipe" or "anon_inode:…".
struct DescriptorKind {
  std::string what;
  std::uint64_t count = 0;
};

struct ProcessFacts {
  std::optional<Use> descriptors;    // RLIMIT_NOFILE
  std::vector<DescriptorKind> open;  // the most frequent first
  std::optional<Use> threads;        // of the process, against RLIMIT_NPROC of its user
  std::optional<Use> tasks;          // of its control group, against pids.max
  std::optional<Use> mappings;       // vm.max_map_count
  // Of its control group, without the part of the file cache that the kernel drops first.
  std::optional<Use> group_memory;
  std::uint64_t resident_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  // The data that the program has stored with the descriptors that epoll watches: often addresses.
  std::vector<std::uint64_t> kept_by_epoll;
};

// Reads what can be read; what cannot is missing.
[[nodiscard]] ProcessFacts read_facts(const Process& process);

// The soft limit in a line of /proc/<pid>/limits that begins with `name`; none if it is unlimited.
[[nodiscard]] std::optional<std::uint64_t> soft_limit(std::string_view limits,
                                                      std::string_view name);
// The number in a line of /proc/<pid>/status ("Threads:\t12") or memory.stat ("inactive_file 8").
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view text,
                                                        std::string_view name);
// The path of the process's group in the second version of control groups: "/user.slice"; none if
// /proc/<pid>/cgroup has no such line.
[[nodiscard]] std::optional<std::string> group_path(std::string_view cgroup);
// The kind of a descriptor, from its link: "socket:[4711]" is "socket".
[[nodiscard]] std::string descriptor_kind(std::string_view link);
// The "data:" words of /proc/<pid>/fdinfo/<fd> of an epoll instance.
[[nodiscard]] std::vector<std::uint64_t> epoll_data(std::string_view fdinfo);

}  // namespace heapattach::diagnose
