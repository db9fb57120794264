#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "attach/process/memory_map.h"
#include "report/trace/prepared.h"
#include "report/trace/trace.h"
#include "symbols/crystal/fiber_list.h"

namespace heapattach::trace {

// Knows which fiber of a running Crystal program runs on which stack. It looks now and then. In
// between, the program may end a fiber and start another on the same stack, so an event has a fiber
// only if that was on the stack both before and after the event.
class FiberWatch {
 public:
  // `prepared` must outlive this.
  explicit FiberWatch(const Prepared& prepared) : prepared_(prepared) {}

  // Whether the program may have fibers.
  [[nodiscard]] bool is_needed() const { return prepared_.is_crystal && prepared_.collector; }
  // Whether it is time to look; looking takes at most a twentieth of the time.
  [[nodiscard]] bool is_due() const { return Clock::now() >= next_look_; }
  void look();

  // The fiber that was on the stack around this address at the last two looks, as an index into
  // fibers(); kNone if unknown.
  std::uint32_t fiber_at(std::uint64_t stack_pointer);
  [[nodiscard]] const std::vector<Fiber>& fibers() const { return fibers_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Table = std::map<std::uint64_t, crystal::ListedFiber>;  // by the end of the stack

  void learn();
  void find_stacks();
  [[nodiscard]] const crystal::ListedFiber* owner(const Table& table,
                                                  std::uint64_t stack_pointer) const;

  const Prepared& prepared_;
  crystal::FiberLayout layout_;
  std::vector<RemoteAddr> known_;
  Table before_;
  Table now_;
  std::map<std::uint64_t, std::uint64_t> stacks_;  // the beginning by the end
  std::map<crystal::ListedFiber, std::uint32_t> numbers_;
  std::vector<Fiber> fibers_;
  Clock::time_point next_look_{};
  Clock::time_point next_learning_{};
};

}  // namespace heapattach::trace
