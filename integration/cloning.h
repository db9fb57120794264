#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "inject/clone.h"
#include "integration/freezing.h"

namespace heapattach {

// Makes a clone of the process, runs `work` on it, and ends it, as each run of heapattach does.
Result<FreezeReport> clone_once(pid_t pid,
                                const CloneOptions& options = {},
                                const std::function<Result<void>(const Clone&)>& work = nullptr);

// Everything that a clone could leave in a process, in a form that can be compared: mappings, open
// files, children, signal dispositions, and the code in memory, but not the values of data.
struct Traces {
  std::string mappings;  // without the heap, the stacks and other growing parts
  std::vector<std::string> files;
  std::vector<pid_t> children;
  std::string signals;  // blocked, ignored and caught, of each thread
  std::string oom_score_adj;
  std::uint64_t code = 0;  // a sum over all executable bytes

  friend bool operator==(const Traces&, const Traces&) = default;
};
Traces traces_of(pid_t pid);

// Describes the differences between two traces; empty if there are none.
std::string difference(const Traces& before, const Traces& after);

// Blocked, ignored and caught signals of each thread, as text to be compared.
std::string signals_of(pid_t pid);
std::vector<pid_t> children_of(pid_t pid);

}  // namespace heapattach
