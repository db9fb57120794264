#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heapattach::heap {

// A number about a heap that only one kind of heap has.
struct Fact {
  std::string_view key;    // in JSON
  std::string_view words;  // the part of the free bytes that it counts; empty if none
  std::uint64_t number = 0;
};

// Where references to its objects may be, but were not searched for.
inline constexpr std::string_view kUnsearchedShared = "unsearched_shared_bytes";
inline constexpr std::string_view kRequestQueues = "request_queues";  // instances of io_uring
inline constexpr std::string_view kAioContexts = "aio_contexts";      // of io_setup(2)
inline constexpr std::string_view kUnsearchedFiles = "unsearched_descriptors";  // of epoll, pipes …
inline constexpr std::array kUnsearched = {kUnsearchedShared, kRequestQueues, kAioContexts,
                                           kUnsearchedFiles};

}  // namespace heapattach::heap
