#pragma once

#include <span>

#include "report/stacks/descriptors.h"
#include "report/stacks/held_stacks.h"
#include "report/stacks/stack_report.h"
#include "symbols/stack/stacks.h"

namespace heapattach::stacks {

// What a fiber's innermost functions say that it waits for, and which frame says so.
struct WaitFrame {
  WaitKind kind = WaitKind::Unknown;
  std::size_t frame = 0;  // of StackRecord::frames
};

// `record` is the fiber's stack.
[[nodiscard]] WaitFrame wait_by_functions(const stack::StackRecord& record,
                                          const stack::Stacks& stacks);

// The fibers' own and their stacks' words say the rest: which channel, mutex or IO, whose the mutex
// is, when a sleep ends.
class FiberWaits {
 public:
  // `fibers` are held.fibers, in the same order.
  FiberWaits(const StackTarget& target,
             const HeldStacks& held,
             const stack::Stacks& stacks,
             Descriptors& descriptors);

  [[nodiscard]] FiberWait of(std::size_t fiber, const stack::StackRecord& record);

 private:
  struct Found {
    RemoteAddr object;
    std::uint64_t bytes = 0;  // that were copied
    std::string type;
  };

  [[nodiscard]] std::optional<Found> find_object(const stack::StackRecord& record,
                                                 const WaitFrame& wait) const;
  [[nodiscard]] std::optional<Found> object_in(Range words, WaitKind kind) const;
  [[nodiscard]] std::optional<std::size_t> owner_in(const Found& mutex) const;
  [[nodiscard]] std::string descriptor_in(const Found& io, WaitKind kind);
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_left(std::size_t fiber) const;

  const StackTarget& target_;
  const HeldStacks& held_;
  const stack::Stacks& stacks_;
  Descriptors& descriptors_;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;  // fibers
  std::optional<std::vector<Watched>> watched_;
};

}  // namespace heapattach::stacks
