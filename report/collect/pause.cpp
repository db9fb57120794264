#include "report/collect/pause.h"

#include "inject/headroom.h"

namespace heapattach::snapshot {

namespace {

// We measured 100 to 240 ms per gigabyte, depending on the machine and the number of idle cores.
constexpr std::uint64_t kFreezeMsPerGigabyte = 200;
constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
// A pause that people hardly notice.
constexpr std::chrono::milliseconds kMoment{200};

}  // namespace

PauseEstimate estimate_pause(const Process& process,
                             std::uint64_t bytes_in_use,
                             std::chrono::milliseconds longest) {
  PauseEstimate estimate;
  estimate.freeze =
      std::chrono::milliseconds(1 + bytes_in_use / kMegabyte * kFreezeMsPerGigabyte / 1024);
  const auto facts = clone_facts(process);
  if (!facts) {
    estimate.clone_obstacle = facts.error().message();
    return estimate;
  }
  estimate.clone = estimated_clone_pause(*facts);
  estimate.clone_obstacle = obstacle_to_clone(*facts, longest);
  return estimate;
}

Hold choose_hold(const PauseEstimate& estimate,
                 std::optional<std::chrono::milliseconds> max_pause) {
  if (estimate.freeze <= max_pause.value_or(kMoment)) return Hold::Freeze;
  return estimate.clone_obstacle ? Hold::Freeze : Hold::Clone;
}

}  // namespace heapattach::snapshot
