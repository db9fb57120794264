// Before 1.15 a sleep, or the limit of another wait, is a timer of libevent (struct event in
// event_struct.h of 2.1, on a 64-bit machine): its flags are at 16, the argument at 32 (the fiber
// itself), the descriptor at 56 (none) and the time at 112.
//
// Since 1.15 it is a structure of Crystal's own event loop, on the stack of the fiber that waits,
// or, for the limit of a select, in an object that the fiber references. It has not changed since:
//
//    0  type              0 read, 1 write, 2 sleep, 3 the limit of a select
//    8  the fiber
//   16  whether there is an index (a union's type id: 0 is nil), and at
//   24  the index: the descriptor above its generation
//   32  whether there is a time, and at
//   40  its seconds, and at
//   48  its nanoseconds
//
// This layout follows from the compiler's rules for structures. An event counts only if all parts
// fit together.

#include "report/stacks/polling_events.h"

#include <array>
#include <vector>

#include "attach/base/word.h"

namespace heapattach::stacks {

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::size_t kEventWords = 7;
constexpr std::int64_t kLongest = 1'000'000'000;  // thirty years
constexpr std::uint64_t kBillion = 1'000'000'000;
constexpr std::uint64_t kMostDescriptors = 1U << 30U;
constexpr std::uint32_t kMostTypes = 1U << 18U;

std::uint32_t low_half(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

}  // namespace

std::optional<PollingEvent> read_polling_event(RemoteAddr at,
                                               RemoteAddr fiber,
                                               const MemoryReader& memory) {
  const auto words = memory.read_as<std::array<std::uint64_t, kEventWords>>(at);
  if (!words) return {};
  const auto& [type, of_fiber, has_index, index, has_time, time, fraction] = *words;
  constexpr std::uint32_t kTypes = 4;
  if (of_fiber != fiber.value || low_half(type) >= kTypes) return {};
  if (low_half(has_index) >= kMostTypes || low_half(has_time) >= kMostTypes) return {};
  PollingEvent event;
  event.type = static_cast<PollingEvent::Type>(low_half(type));
  const bool is_io =
      event.type == PollingEvent::Type::Read || event.type == PollingEvent::Type::Write;
  if (is_io != (low_half(has_index) != 0)) return {};
  if (is_io && index >> 32U >= kMostDescriptors) return {};
  if (is_io) event.descriptor = static_cast<std::uint32_t>(index >> 32U);
  if (low_half(has_time) == 0) {
    const bool is_sleep = event.type == PollingEvent::Type::Sleep;
    return is_sleep ? std::nullopt : std::optional(event);
  }
  const auto when = static_cast<std::int64_t>(time);
  if (when < 0 || when > kLongest || low_half(fraction) >= kBillion) return {};
  event.wakes_at = seconds(when) + nanoseconds(low_half(fraction));
  return event;
}

std::vector<PollingEvent> find_polling_events(Range range,
                                              RemoteAddr fiber,
                                              const MemoryReader& memory) {
  std::vector<PollingEvent> found;
  std::vector<std::uint64_t> words(range.bytes / kWordBytes);
  if (!memory.read(range.start, std::as_writable_bytes(std::span(words)))) return found;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != fiber.value) continue;
    const auto event = read_polling_event(range.start + (i - 1) * kWordBytes, fiber, memory);
    if (event) found.push_back(*event);
  }
  return found;
}

std::optional<nanoseconds> read_libevent_timer(RemoteAddr at,
                                               RemoteAddr fiber,
                                               const MemoryReader& memory) {
  constexpr std::uint64_t kFlags = 16;
  constexpr std::uint64_t kArgument = 32;
  constexpr std::uint64_t kDescriptor = 56;
  constexpr std::uint64_t kTime = 112;
  constexpr std::uint16_t kIsPending = 1;             // EVLIST_TIMEOUT
  constexpr std::int64_t kMicroseconds = 0x000fffff;  // the rest are flags
  const auto argument = memory.read_as<std::uint64_t>(at + kArgument);
  if (!argument || *argument != fiber.value) return {};
  const auto descriptor = memory.read_as<std::int32_t>(at + kDescriptor);
  const auto flags = memory.read_as<std::uint16_t>(at + kFlags);
  const auto time = memory.read_as<std::array<std::int64_t, 2>>(at + kTime);
  if (!descriptor || *descriptor != -1 || !flags || (*flags & kIsPending) == 0) return {};
  if (!time || (*time)[0] < 0 || (*time)[0] > kLongest) return {};
  return seconds((*time)[0]) + std::chrono::microseconds((*time)[1] & kMicroseconds);
}

}  // namespace heapattach::stacks
