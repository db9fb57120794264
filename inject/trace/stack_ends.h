#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "attach/stop/freeze.h"
#include "inject/remote_control.h"
#include "inject/trace/arch/layout.h"
#include "inject/trace/thread_table.h"

namespace heapattach::trace {

// A thread, and the memory in which the C library keeps its number.
struct NumberedThread {
  std::uint32_t number = 0;       // the thread's number in the target's view
  std::vector<std::byte> memory;  // the C library's structure (arch/thread_memory.h)
};
// The offset of a thread's number in the memory of each thread, if it is the same for all of
// `threads`; 0 if it is unknown.
[[nodiscard]] std::uint64_t offset_of_number(std::span<const NumberedThread> threads);

// The start of the readable memory that reaches up to `end` without a gap; `end` itself if there is
// none.
[[nodiscard]] std::uint64_t begin_of_span(const MemoryMap& map, std::uint64_t end);

// The stack of the thread with this thread pointer, as the C library has noted it in `memory`:
// glibc notes the lowest address and the size, musl the end and the size.
[[nodiscard]] std::optional<Range> stack_of_thread(std::span<const std::byte> memory,
                                                   std::uint64_t pointer);

// Tells a blob what it cannot know without system calls: the number of a thread, and how far a
// stack can be read (end_of_stack in recorder.c). What the blob does not know, it does not record.
class StackEnds {
 public:
  StackEnds(const Process& target,
            RemoteControl& control,
            const BlobHead& head,
            std::vector<ThreadRecordForm> forms);

  // Learns what the blob needs from the beginning. Call this before the blob is turned on, with all
  // threads stopped.
  Result<void> learn(const FrozenView& view, const MemoryMap& map);

  // Answers the blob's questions, and checks the earlier answers again from time to time.
  void look();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] RemoteAddr at(std::size_t offset) const;
  void write(std::size_t offset, std::span<const std::uint64_t> words);
  Result<void> learn_numbers(const FrozenView& view);
  void tell(const MemoryMap& map, std::uint64_t end);
  // The memory in which the C library's structure of the thread with this thread pointer should be;
  // may be empty.
  [[nodiscard]] std::vector<std::byte> thread_memory(RemoteAddr pointer) const;
  [[nodiscard]] bool may_be_thread(std::uint64_t end) const;
  [[nodiscard]] std::uint64_t begin_below(const MemoryMap& map, std::uint64_t end);
  void find_records(const MemoryMap& map);
  void tell_form(const ThreadTable& table);

  const Process& target_;
  RemoteControl& control_;
  BlobHead head_;
  std::vector<ThreadRecordForm> forms_;
  std::vector<BlobSpan> told_ = std::vector<BlobSpan>(kSpans);  // what the blob has
  std::set<std::uint64_t> new_threads_;  // thread pointers that the blob does not know yet
  std::map<std::uint64_t, std::uint64_t> stacks_;  // threads' stacks: lowest address, end
  std::optional<ThreadTable> table_;
  Clock::time_point next_look_;
  Clock::time_point next_check_;
  Clock::time_point next_search_;
};

}  // namespace heapattach::trace
