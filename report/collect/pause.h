#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "report/collect/take.h"

namespace heapattach::snapshot {

// How long a target would be stopped, estimated before anything is tried.
struct PauseEstimate {
  std::chrono::milliseconds freeze{};
  std::chrono::milliseconds clone{};
  std::optional<std::string> clone_obstacle;  // why no clone would be tried; none: it would
};

// `bytes_in_use` is what a freeze would copy.
PauseEstimate estimate_pause(const Process& process,
                             std::uint64_t bytes_in_use,
                             std::chrono::milliseconds longest);

// Freeze or Clone, as --snapshot auto chooses: a freeze, which changes nothing in the target,
// unless it would take longer than `max_pause`, or than a moment if none was given.
[[nodiscard]] Hold choose_hold(const PauseEstimate& estimate,
                               std::optional<std::chrono::milliseconds> max_pause);

}  // namespace heapattach::snapshot
