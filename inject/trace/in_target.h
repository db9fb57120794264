#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "attach/stop/freeze.h"
#include "inject/injection.h"

namespace heapattach::trace {

// Makes system calls on a stopped thread of the frozen target, one after the other.
class InTarget {
 public:
  // Chooses a thread, and room for the instructions. Returns Denied or Impossible if there is none.
  static Result<InTarget> borrow(RemoteControl& control,
                                 const Process& target,
                                 const MemoryMap& map,
                                 const FrozenView& view);

  // Makes the call. Returns its result, or its errno as an error that starts with `doing`. If an
  // argument is a text, pass text() for it.
  Result<std::uint64_t> call(std::string_view doing,
                             long number,
                             std::initializer_list<std::uint64_t> arguments,
                             std::string_view text = "");
  [[nodiscard]] std::uint64_t text() const { return (thread_.stub + Stub::name_at()).value; }
  [[nodiscard]] pid_t tid() const { return thread_.tid; }
  [[nodiscard]] RemoteControl& control() const { return *control_; }

 private:
  InTarget(RemoteControl& control, Borrowed thread, std::chrono::steady_clock::time_point deadline)
      : control_(&control), thread_(thread), deadline_(deadline) {}

  RemoteControl* control_;
  Borrowed thread_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace heapattach::trace
