#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process/process.h"

namespace heapattach {

// How long a thread has run on a processor and waited for one.
struct ProcessorTime {
  std::chrono::nanoseconds running{};
  std::chrono::nanoseconds waiting{};

  [[nodiscard]] std::chrono::nanoseconds wanted() const { return running + waiting; }
};

// The activity of one thread, as the kernel reports it without stopping the thread.
struct ThreadActivity {
  pid_t tid = 0;
  pid_t tid_in_target = 0;   // its number in the target's own pid namespace
  std::string name;          // chosen by the target: any bytes
  char state = '?';          // see ThreadState
  std::string wait_channel;  // the kernel function that it is waiting in; empty if none or unknown
  ProcessorTime time;
  std::chrono::steady_clock::time_point seen;
};

// Observes all threads of a process, except those that end in the meantime.
Result<std::vector<ThreadActivity>> observe_activity(const Process& process);

// Parses /proc/<pid>/task/<tid>/schedstat. None if it does not exist, as on some kernels.
std::optional<ProcessorTime> parse_schedstat(std::string_view text);

// The numbers of a thread in its pid namespaces, ours first and its own last: the line "NSpid:" of
// /proc/<pid>/status. Empty if the kernel does not list them.
std::vector<pid_t> namespace_numbers(std::string_view status);

// The number by which a thread knows itself: that in its own pid namespace. Ours if it cannot be
// read.
pid_t number_in_target(const Process& process, pid_t tid);

}  // namespace heapattach
