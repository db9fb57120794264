#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "report/cli/fail_if.h"

namespace heapattach {

// A condition of --watch --when: either a number that the kernel shows without stopping the
// process, or a condition of --fail-if, for which a report must be made.
struct When {
  enum class What : std::uint8_t {
    Resident,        // rss
    Memory,          // memory: of the process's control group, or of the machine
    Threads,         // threads
    ResidentGrowth,  // growth(rss): bytes per minute
    Report,          // `condition` decides
  };
  What what = What::Resident;
  FailIf condition;         // for a number, only its comparison and limit count
  bool is_percent = false;  // of the memory that the process may have
  std::string text;         // as the user wrote it
};

// "rss > 75%", "memory >= 1G", "threads > 500", "growth(rss) > 100M", or what --fail-if accepts,
// except leaks, which only --leaks finds.
Result<When> parse_when(std::string_view text);

// The numbers of a process at one moment. Reading them stops nothing.
struct ProcessNumbers {
  std::uint64_t resident_bytes = 0;
  std::uint64_t threads = 0;
  std::uint64_t limit_bytes = 0;  // of the tightest control group with a limit, or of the machine
  std::uint64_t used_bytes = 0;   // of that; without what the kernel drops first
};
// None if the process is gone.
[[nodiscard]] std::optional<ProcessNumbers> read_numbers(pid_t pid);

// How much the resident memory has grown within the last minute. During the first minute, growth is
// not extrapolated, so that a start is not taken for a leak.
class GrowthPerMinute {
 public:
  using Time = std::chrono::steady_clock::time_point;
  void add(std::uint64_t bytes, Time now);
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Sample {
    Time at;
    std::uint64_t bytes = 0;
  };
  std::deque<Sample> samples_;  // one per second at most, of the last minute
};

// Whether a condition on numbers is true. Not for reports.
[[nodiscard]] bool holds(const When& when, const ProcessNumbers& numbers, std::int64_t growth);

}  // namespace heapattach
