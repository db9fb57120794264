#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "report/collect/take_options.h"

namespace heapattach::snapshot {

// An estimate of the time for which the target would be stopped.
struct PauseEstimate {
  std::chrono::milliseconds freeze{};
  std::chrono::milliseconds clone{};
  std::optional<std::string>
      clone_obstacle;  // why no clone would be tried; nothing if one would be
};

// Estimates the pause of each way. `bytes_in_use` is what a freeze would copy.
PauseEstimate estimate_pause(const Process& process,
                             std::uint64_t bytes_in_use,
                             std::chrono::milliseconds longest);

// Chooses Freeze or Clone for --snapshot auto. Prefers a freeze, which changes nothing in the
// target, unless it would take longer than `max_pause` or, if that is not given, than a short
// moment.
[[nodiscard]] Hold choose_hold(const PauseEstimate& estimate,
                               std::optional<std::chrono::milliseconds> max_pause);

}  // namespace heapattach::snapshot
