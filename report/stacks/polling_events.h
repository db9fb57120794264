#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/remote_addr.h"
#include "attach/memory/memory_reader.h"

namespace heapattach::stacks {

// An event that a fiber has registered with Crystal's event loop to wake it
// (Crystal::EventLoop::Polling::Event).
struct PollingEvent {
  enum class Type : std::uint8_t { Read, Write, Sleep, SelectTimeout };

  Type type = Type::Read;
  std::optional<std::uint32_t> descriptor;
  std::optional<std::chrono::nanoseconds> wakes_at;  // by CLOCK_MONOTONIC
};

// The event at `at`; none if there is no event of this fiber.
[[nodiscard]] std::optional<PollingEvent> read_polling_event(RemoteAddr at,
                                                             RemoteAddr fiber,
                                                             const MemoryReader& memory);

// The events found in the words of `range`, including any words that only look like an event.
[[nodiscard]] std::vector<PollingEvent> find_polling_events(Range range,
                                                            RemoteAddr fiber,
                                                            const MemoryReader& memory);

// When libevent's timer at `at` will wake the fiber, by CLOCK_MONOTONIC; none if it is not a timer,
// belongs to another fiber, or is not set.
[[nodiscard]] std::optional<std::chrono::nanoseconds> read_libevent_timer(
    RemoteAddr at, RemoteAddr fiber, const MemoryReader& memory);

}  // namespace heapattach::stacks
