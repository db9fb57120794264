#pragma once

#include <cstdint>
#include <vector>

#include "symbols/ruby/machine.h"

namespace heapattach::ruby {

// Threads that wait for Ruby's lock. Since 3.3, the thread that releases the lock hands it to the
// first one.
struct LockQueue {
  RemoteAddr head;  // two words, and then the count
  std::uint32_t count = 0;
};

// Finds the queues that are not empty, at most one of each ractor. A queue is proven by its nodes,
// which are in different threads of the ractor, at the same place in each, and by its count.
[[nodiscard]] std::vector<LockQueue> find_lock_queues(const Machine& machine,
                                                      const MemoryReader& memory);

// The addresses of the threads in a ractor's queue, in order. `threads` are all of the ractor's.
// The queue's count is not used, because queues have none until 3.2.
[[nodiscard]] std::vector<std::uint64_t> threads_in_queue(const Values& values,
                                                          std::uint64_t lock_owner,
                                                          std::vector<std::uint64_t> threads);

// The bytes that an empty queue has at `head`.
[[nodiscard]] std::vector<std::byte> empty_queue(RemoteAddr head);

}  // namespace heapattach::ruby
