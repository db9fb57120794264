#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/process/process.h"
#include "inject/trace/ring.h"
#include "report/trace/cells.h"
#include "report/trace/fiber_watch.h"
#include "report/trace/live_samples.h"
#include "report/trace/trace.h"
#include "report/trace/type_watch.h"
#include "report/trace/waiting_stacks.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/samples.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::trace {

// The time, in the clock of the records.
[[nodiscard]] std::uint64_t monotonic_ns();

// The approximate limit of a recording's memory, including the report on it.
inline constexpr std::size_t kMostRecordingBytes = std::size_t{336} << 20;

// Turns the records of a ring into a trace. Stacks are unwound in batches, because each batch
// starts a worker process. Identical copies of a stack are unwound only once.
class Recording {
 public:
  // `began` is the start in CLOCK_MONOTONIC nanoseconds.
  Recording(const Process& target, const Modules& modules, std::size_t depth, std::uint64_t began);
  ~Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // The names of types, by the return address of the call that allocates one.
  void set_types(std::unordered_map<std::uint64_t, std::string> types) {
    type_names_ = std::move(types);
  }

  // `fibers` gives events their fibers and must outlive this; null: events have none.
  void set_fibers(FiberWatch* fibers) { fibers_ = fibers; }

  // `watch` learns types from the objects and must outlive this; null: nothing does.
  void set_type_watch(TypeWatch* watch) { type_watch_ = watch; }

  // Leaves out the ends of allocations that were not recorded: the recorder reports all.
  void skip_unknown_ends() { in_use_.emplace(); }

  // Records only ends from now on.
  void leave_out_new() { leaves_out_new_ = true; }

  // The end of the recording. Work during the recording does not take longer.
  void set_end(std::chrono::steady_clock::time_point end) { end_ = end; }

  // The deadline of the whole run.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  void set_most_bytes(std::size_t bytes) { most_bytes_ = bytes; }

  // Takes complete records from the ring until the ring is empty, until `until`, or until this is
  // full. Returns false if there were none.
  Result<bool> drain(Ring& ring, std::chrono::steady_clock::time_point until);
  // Takes what the tracer left when it was removed. Returns how many samples were still in the ring
  // at that time; they are lost.
  std::uint64_t drain_rest(Ring& ring, std::chrono::steady_clock::time_point until);
  // Fills in everything except the header and the events. `counter` counts the new events instead.
  // It takes only a moment, because the ring must be read again soon: events whose stacks are not
  // unwound yet, and all later ones, are left for the next time.
  Result<void> show(Trace& trace, CellCounter& counter);
  // Fills in everything except the header. Stacks that are not unwound in time are missing. Nothing
  // can be added afterwards.
  Result<void> finish(Trace& trace, std::chrono::steady_clock::time_point until);

  // About the memory that it takes, including the needs of a report on it.
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] bool is_full() const { return memory_bytes() >= most_bytes_; }

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  // The number of records that were left out because nothing can have caused them.
  [[nodiscard]] std::uint64_t impossible() const { return impossible_; }
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  [[nodiscard]] std::uint64_t not_unwound() const { return not_unwound_; }
  // Whether there was time to find the names of functions.
  [[nodiscard]] bool has_names() const { return has_names_; }
  // The number of stacks that samples wait for.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  using StackKey = std::vector<std::uint64_t>;  // the instructions of its frames, innermost first

  void take(Ring::Entry entry);
  bool is_unknown_end(const RingRecord& record);
  void settle();
  void release(bool with_all);
  Result<void> unwind(std::span<const unwind::StackSample> oldest,
                      std::chrono::milliseconds longest);
  [[nodiscard]] bool is_waiting(const Event& event) const;
  void complete(Event& event) const;
  void put_stacks(Trace& trace, std::chrono::milliseconds longest);
  std::uint32_t thread_of(std::uint32_t number);
  std::uint32_t type_of(std::uint64_t caller);
  std::uint32_t number_of_type(const std::string& name);
  std::uint32_t copy_of(const Ring::Entry& entry);
  std::uint32_t stack_of(const unwind::StackRecord& record);
  void learn_places(const std::vector<RemoteAddr>& pcs, std::chrono::milliseconds longest);
  [[nodiscard]] std::chrono::milliseconds longest_walk() const;
  std::vector<std::vector<std::uint32_t>> name_frames(Trace& trace,
                                                      const std::vector<RemoteAddr>& pcs);

  const Process& target_;
  const Modules& modules_;
  std::size_t depth_;
  std::uint64_t began_;
  std::unordered_map<std::uint64_t, std::string> type_names_;
  EventLog events_;  // a stack is the number of its copy
  EventLog::Reader shown_{events_};
  // An event whose fiber the next look will show, or whose type a look at its object may show.
  struct Unsettled {
    Event event;
    std::uint64_t stack_pointer = 0;
    std::uint64_t watched = 0;  // its number in the type watch
  };
  std::deque<Unsettled> unsettled_;
  std::size_t with_fiber_ = 0;  // how many of the first ones have their fibers
  FiberWatch* fibers_ = nullptr;
  TypeWatch* type_watch_ = nullptr;
  std::optional<LiveSamples> in_use_;  // recorded ones, if ends of others are left out
  std::size_t followed_ = 0;           // how many are in it
  std::size_t most_followed_ = 0;      // … at most so far
  std::vector<Thread> threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> thread_numbers_;
  std::vector<Type> types_;
  std::map<std::string, std::uint32_t> type_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> type_by_caller_;
  WaitingStacks waiting_;              // not unwound yet: the last entries of copies_
  std::vector<std::uint32_t> copies_;  // the stack of each copy; kNone: not unwound yet
  std::unordered_map<std::uint64_t, std::uint32_t> copy_numbers_;  // by content
  struct Found {
    StackKey frames;
    bool is_truncated = false;
    std::uint32_t type = kNone;
  };
  std::vector<Found> stacks_;
  std::set<std::uint64_t> instructions_;                        // the instructions of all frames
  std::map<std::uint64_t, std::vector<unwind::Place>> places_;  // by instruction
  std::map<std::pair<StackKey, bool>, std::uint32_t> stack_numbers_;
  std::size_t most_bytes_ = kMostRecordingBytes;
  std::size_t other_bytes_ = 0;  // bytes needed besides those of events
  std::uint64_t samples_ = 0;
  std::uint64_t impossible_ = 0;
  std::uint64_t forgotten_ = 0;
  std::uint64_t not_unwound_ = 0;
  bool has_names_ = true;
  bool leaves_out_new_ = false;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  Deadline deadline_;
};

}  // namespace heapattach::trace
