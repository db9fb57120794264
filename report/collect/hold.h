#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/stop/freeze.h"
#include "inject/clone.h"
#include "report/collect/opened.h"
#include "report/request.h"

// Holds a target, lets a report copy what it needs, and releases the target. All reports that copy
// memory use this: those on heaps, on stacks, and on Ruby.
namespace heapattach::snapshot {

// The source of a copy.
struct HeldSource {
  const Process* process = nullptr;  // the target, or a clone of it; null: a core file
  const MemoryReader& memory;
  const std::vector<FrozenThread>& threads;        // the threads of the target
  std::chrono::steady_clock::time_point deadline;  // for the end of the copying
};
using CopyFrom = std::function<Result<void>(const HeldSource&)>;

// How, when and for how long a target was held.
struct Holding {
  FreezeReport freeze;
  std::chrono::system_clock::time_point captured;
  // The clock of the target's timers at that moment; unknown for a core file.
  std::optional<std::chrono::nanoseconds> monotonic;
  bool is_held = false;   // false if the target ran while it was read; true for a core file
  bool is_clone = false;  // the target was held until a clone was made, and the clone was read
};

// Options for stopping a target that are not in the request.
struct HoldOptions {
  std::chrono::milliseconds budget = kLongestFreeze;           // for the whole stop
  std::optional<std::chrono::milliseconds> thread_deadline{};  // for each thread to stop
  bool with_vector_registers = false;
  std::string advice{};  // if the budget was too small; empty: none, and the budget is not named
  // hold_clone() calls this during the freeze, before the clone is made. An error prevents the
  // clone.
  std::function<Result<void>()> look{};
};

// Freezes the target while `copy` runs. Copies from a core file as it is. Sets `holding` when the
// copying begins, except for the report on the freeze.
Result<void> hold(const Opened& target,
                  const Request& request,
                  const HoldOptions& how,
                  const CopyFrom& copy,
                  Holding& holding);

// Copies from a process while it runs.
Result<void> hold_nothing(const Opened& target,
                          const Request& request,
                          const CopyFrom& copy,
                          Holding& holding);

// Copies from a process whose threads the caller holds.
Result<void> hold_as_it_is(const Opened& target,
                           const Request& request,
                           const std::vector<FrozenThread>& threads,
                           const CopyFrom& copy,
                           Holding& holding);

// Freezes the process until a clone of it is made, and copies from that. The caller ends the clone.
Result<Clone> hold_clone(const Opened& target,
                         const Request& request,
                         const HoldOptions& how,
                         const CopyFrom& copy,
                         Holding& holding);

// Ends a clone that was read after hold_clone() returned it. Returns Impossible if it has died
// before.
Result<void> end_clone(Clone& clone, const Request& request);

}  // namespace heapattach::snapshot
