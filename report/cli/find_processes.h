#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace heapattach {

// A process in a listing of /proc.
struct ListedProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // chosen by the process: any bytes, at most 15
};

// Parses the line /proc/<pid>/stat; none if it is cut off.
std::optional<ListedProcess> parse_listed(std::string_view stat);

// Looks up one process; none if it is gone or ending, or is a kernel thread.
std::optional<ListedProcess> listed_process(pid_t pid);

// All processes except this one and kernel threads. The list may be outdated at once.
std::vector<ListedProcess> list_processes();

// `root` and all its descendants, parents first; empty if it is not in `all`.
std::vector<pid_t> tree_of(const std::vector<ListedProcess>& all, pid_t root);

// This process and all its descendants, which a server or a watch does not look at.
std::vector<pid_t> our_processes();

// The processes whose names match a glob, by pid.
std::vector<pid_t> named_like(const std::vector<ListedProcess>& all, std::string_view pattern);

}  // namespace heapattach
