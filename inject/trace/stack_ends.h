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

// The offset of a thread's number in the memory of each thread, if it is the same for all of
// `threads`; 0 if it is unknown.
struct NumberedThread {
  std::uint32_t number = 0;       // as the target numbers it
  std::vector<std::byte> memory;  // where its C library's structure is (arch/thread_memory.h)
};
[[nodiscard]] std::uint64_t offset_of_number(std::span<const NumberedThread> threads);

// The start of the memory that can be read without a gap up to `end`; `end` itself if there is
// none.
[[nodiscard]] std::uint64_t begin_of_span(const MemoryMap& map, std::uint64_t end);

// The stack of the thread with this thread pointer, as its C library has noted it in `memory`: by
// glibc, its lowest address and its size; by musl, its end and its size.
[[nodiscard]] std::optional<Range> stack_of_thread(std::span<const std::byte> memory,
                                                   std::uint64_t pointer);

// Tells a blob what it cannot know without system calls: the number of a thread, and how far a
// stack can be read (end_of_stack in recorder.c). Where the blob does not know, it records
// less.
class StackEnds {
 public:
  StackEnds(const Process& target,
            RemoteControl& control,
            const BlobHead& head,
            std::vector<ThreadRecordForm> forms);

  // Call it before the blob is turned on, with all threads stopped.
  Result<void> learn(const FrozenView& view, const MemoryMap& map);

  // Answers the blob's questions, and checks the earlier answers again from time to time.
  void look();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] RemoteAddr at(std::size_t offset) const;
  void write(std::size_t offset, std::span<const std::uint64_t> words);
  Result<void> learn_numbers(const FrozenView& view);
  void tell(const MemoryMap& map, std::uint64_t end);
  // What the C library may know about the thread with this thread pointer; may be empty.
  [[nodiscard]] std::vector<std::byte> thread_memory(RemoteAddr pointer) const;
  [[nodiscard]] bool may_be_thread(std::uint64_t end) const;
  [[nodiscard]] std::uint64_t begin_below(const MemoryMap& map, std::uint64_t end);
  void find_records(const MemoryMap& map);
  void tell_form(const ThreadTable& table);

  const Process& target_;
  RemoteControl& control_;
  BlobHead head_;
  std::vector<ThreadRecordForm> forms_;
  std::vector<BlobSpan> told_ = std::vector<BlobSpan>(kSpans);  // as the blob has them
  std::set<std::uint64_t> new_threads_;  // thread pointers that the blob does not know yet
  std::map<std::uint64_t, std::uint64_t> stacks_;  // of threads: from the lowest address to the end
  std::optional<ThreadTable> table_;
  Clock::time_point next_look_;
  Clock::time_point next_check_;
  Clock::time_point next_search_;
};

}  // namespace heapattach::trace
