#pragma once

#include <set>

#include "report/stacks/awaited_objects.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/polling_events.h"
#include "report/stacks/scene.h"

namespace heapattach::stacks {

// Finds what each fiber waits for. The functions on its stack show the kind of wait. The words of
// the fiber and its stack show the details: the channel, mutex or IO, the mutex's owner, or the end
// of a sleep.
class FiberWaits {
 public:
  FiberWaits(const Scene& scene, const CrystalLibrary& library, Descriptors& descriptors);

  [[nodiscard]] FiberWait of(std::size_t fiber, const unwind::StackRecord& record);

 private:
  // The fiber's registration with the event loop.
  struct Event {
    std::optional<PollingEvent> polling;
    std::optional<std::chrono::nanoseconds> wakes_at;
    bool may_wake = false;  // there is a timer, but it is unknown whether it is set
  };

  [[nodiscard]] Event event_of(std::size_t fiber,
                               const unwind::StackRecord& record,
                               const WaitFrame& wait);
  void add_listing(std::size_t fiber, FiberWait& wait) const;
  void add_timers(RemoteAddr fiber, Event& event) const;
  [[nodiscard]] std::string descriptor_in(const AwaitedObject& io, WaitKind kind);
  [[nodiscard]] std::string descriptor_text(std::uint32_t number);
  void refine_by_access(FiberWait& wait) const;
  [[nodiscard]] bool is_open_descriptor(std::uint32_t number);
  [[nodiscard]] std::optional<pid_t> process_in(const unwind::StackRecord& record,
                                                const WaitFrame& wait);

  const Scene& scene_;
  const CrystalLibrary& library_;
  Descriptors& descriptors_;
  AwaitedObjects objects_;
  std::optional<std::vector<Watched>> watched_;
  std::optional<std::set<pid_t>> children_;
};

}  // namespace heapattach::stacks
