#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process/control_groups.h"
#include "attach/process/process.h"

// The facts that the kernel has about a process besides its memory and its threads: mainly, how
// near it is to its limits. Reading them stops nothing.
namespace heapattach::diagnose {

// Descriptors of one kind: of a file by its path, otherwise "socket", "pipe" or "anon_inode:…".
struct DescriptorKind {
  std::string what;
  std::uint64_t count = 0;
};

struct ProcessFacts {
  std::optional<LimitedUse> descriptors;  // RLIMIT_NOFILE
  std::vector<DescriptorKind> open;       // the most frequent first
  std::optional<LimitedUse> threads;      // of the process, against RLIMIT_NPROC of its user
  std::optional<LimitedUse> tasks;        // of its control group, against pids.max
  std::optional<LimitedUse> mappings;     // vm.max_map_count
  // Of its control group, without the part of the file cache that the kernel drops first.
  std::optional<LimitedUse> group_memory;
  std::string frozen_group;                 // the directory of its control group, if that is frozen
  std::optional<LimitedUse> address_space;  // RLIMIT_AS
  std::optional<LimitedUse> private_data;   // RLIMIT_DATA
  std::optional<std::uint64_t> stack_limit;  // RLIMIT_STACK, in bytes
  std::uint64_t resident_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  // The process that it was forked from, if that is alive, and the threads of that, as they are
  // numbered in the process's own pid namespace.
  pid_t parent = 0;
  std::vector<pid_t> threads_of_parent;
};

// Reads what can be read; what cannot is missing.
[[nodiscard]] ProcessFacts read_facts(const Process& process);

// The kind of a descriptor, from its link: "socket:[4711]" is "socket".
[[nodiscard]] std::string descriptor_kind(std::string_view link);

}  // namespace heapattach::diagnose
