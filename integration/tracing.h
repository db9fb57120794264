#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "inject/ptrace_control.h"
#include "inject/trace/installation.h"
#include "integration/cloning.h"
#include "integration/live_target.h"
#include "report/collect/opened.h"
#include "report/collect/take_options.h"
#include "report/trace/trace.h"

// Helpers that trace the program targets/allocating.c, which knows what it allocates.
namespace heapattach {

inline constexpr const char* kAllocating = "allocating";

// A trace's figures for one function.
struct TracedSite {
  double objects = 0;
  double variance = 0;  // of that estimate
  std::uint64_t samples = 0;
  std::uint64_t dead = 0;
  std::uint64_t freed = 0;
};

// The figures of a trace, by the innermost of the program's own functions.
std::map<std::string, TracedSite> sites_of(const trace::Trace& trace);

// Traces the target until `is_done` returns true. It is called some times a second, from the
// beginning on.
trace::Trace trace_until(LiveTarget& target,
                         std::uint64_t every,
                         const std::function<bool()>& is_done,
                         const snapshot::HeapChoice& heap = {});

// Traces the target while it does `count` rounds in each of two threads.
struct TracedRounds {
  trace::Trace trace;
  Answer before;
  Answer after;
};
TracedRounds trace_rounds(LiveTarget& target, std::uint64_t every, long count, bool with_collect);

// Everything that a trace could leave in the target, but for the blocked signals, which the
// collector changes all the time.
Traces lasting_traces(LiveTarget& target);

// A target, its hooks, and everything that is needed to install them.
struct HookedTarget {
  explicit HookedTarget(pid_t pid);
  HookedTarget(pid_t pid, const snapshot::HeapChoice& heap);
  Result<std::unique_ptr<trace::Installation>> install();

  snapshot::Opened opened;
  std::unique_ptr<PtraceControl> control;
  trace::Hooks hooks;
};

// Traces the target in a process that kills itself after `steps` steps that change the target.
// Returns false if the trace ended before that.
bool dies_at(HookedTarget& tracer, int steps);

// Kills a tracer of the target at every `stride`-th step that changes it, and checks that nothing
// is harmed, and that the next trace cleans up. Returns how often it was killed.
int check_kills(LiveTarget& target, HookedTarget& tracer, int stride);

// How many of a process's descriptors refer to a file with `name` in its name.
std::ptrdiff_t open_files(pid_t pid, std::string_view name);

// Whether the target's threads do rounds, and the target finds nothing wrong.
bool is_working(LiveTarget& target);

}  // namespace heapattach
