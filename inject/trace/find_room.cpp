#include "inject/trace/find_room.h"

#include <algorithm>

#include "attach/base/page.h"
#include "inject/trace/arch/jump.h"

namespace heapattach::trace {

namespace {

// The kernel maps nothing below vm.mmap_min_addr, which is lower than this by default.
constexpr std::uint64_t kLowest = 0x20000;
constexpr std::uint64_t kGuard = std::uint64_t{64} << 10;

// Returns the room at the upper end of a gap, within `allowed`, and away from the memory around the
// gap.
std::optional<std::uint64_t> room_below(std::uint64_t gap_begin,
                                        std::uint64_t gap_end,
                                        std::uint64_t bytes,
                                        Range allowed) {
  const std::uint64_t begin = std::max(gap_begin + kGuard, allowed.start.value);
  const std::uint64_t end = std::min(gap_end - kGuard, allowed.end().value);
  if (gap_end < gap_begin + 2 * kGuard || end < begin || end - begin < bytes) return std::nullopt;
  return (end - bytes) & ~(page_bytes() - 1);
}

std::optional<RemoteAddr> nearest_room(const MemoryMap& map,
                                       std::uint64_t bytes,
                                       Range allowed,
                                       std::uint64_t middle) {
  const auto distance = [middle](std::uint64_t at) {
    return at > middle ? at - middle : middle - at;
  };
  std::optional<RemoteAddr> best;
  std::uint64_t gap_begin = 0;
  for (const Mapping& mapping : map.mappings()) {
    const std::uint64_t gap_end = mapping.range.start.value;
    if (mapping.path != "[stack]" && gap_end > gap_begin) {
      const auto room = room_below(gap_begin, gap_end, bytes, allowed);
      if (room && (!best || distance(*room) < distance(best->value))) best = RemoteAddr{*room};
    }
    gap_begin = mapping.range.end().value;
  }
  return best;
}

}  // namespace

std::optional<RemoteAddr> find_room(const MemoryMap& map,
                                    std::uint64_t bytes,
                                    std::span<const RemoteAddr> near) {
  std::uint64_t lowest = kLowest;
  std::uint64_t highest = kHighestRoom;
  for (const RemoteAddr at : near) {
    lowest = std::max(lowest, at.value > kReach ? at.value - kReach : 0);
    highest = std::min(highest, at.value + kReach);
  }
  if (highest <= lowest) return std::nullopt;
  const std::uint64_t middle = near.empty() ? 0 : near.front().value;
  return nearest_room(map, bytes, {{lowest}, highest - lowest}, middle);
}

}  // namespace heapattach::trace
