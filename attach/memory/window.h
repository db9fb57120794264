#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <sys/types.h>

#include "attach/base/fd.h"
#include "attach/base/result.h"
#include "attach/memory/memory_reader.h"

namespace heapattach {

// Shows another process's memory as if all of it had been copied, while holding only part of it
// locally. A chunk is read when it is first accessed; when there are too many, the oldest are
// dropped. The process must not change while the window is open, so this is only for clones.
//
// Accessing an absent chunk causes a fault, and the SIGSEGV handler reads the chunk in, so code
// that holds a span need not know about it. Therefore only one window can be open at a time, and
// only threads of this process that do not block SIGSEGV may access its bytes. Do not pass the
// bytes to system calls. A forked child does not inherit the window; accessing it there kills the
// child.
class Window {
 public:
  // Opens a window on `ranges` (sorted and disjoint) of `mem`, an open /proc/<pid>/mem. It holds at
  // most about `limit` bytes at a time.
  static Result<std::unique_ptr<Window>> open(Fd mem,
                                              std::span<const Range> ranges,
                                              std::size_t limit);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // The first byte of range number `i`, at the same offset in its page as in the process. The
  // ranges follow one another in order, with gaps.
  [[nodiscard]] const std::byte* begin_of(std::size_t i) const {
    return begin_ + places_[i].offset;
  }

  // The number of accessed bytes that could not be read; they read as zero.
  [[nodiscard]] std::uint64_t unread_bytes() const { return unread_.load(); }
  // Drops all chunks; the next access reads them again.
  void forget();

 private:
  struct Place {
    Range range;
    std::size_t offset = 0;  // in the view
  };
  Window(Fd mem, std::vector<Place> places, std::byte* begin, std::size_t bytes, std::size_t limit);

  static void handle_fault(int signal, siginfo_t* about, void* context);
  bool provide(const std::byte* at);
  bool fill(std::size_t chunk);
  void read_chunk(std::size_t chunk, std::byte* into);
  bool drop_oldest();

  Fd mem_;
  std::vector<Place> places_;
  std::byte* begin_;
  std::size_t bytes_;
  std::size_t chunk_bytes_;
  pid_t owner_;
  std::mutex mutex_;                   // guards the members below
  std::vector<std::uint8_t> is_here_;  // by chunk
  std::vector<std::uint32_t> ring_;    // the present chunks, in order of arrival
  std::size_t oldest_ = 0;             // in the ring
  std::size_t count_ = 0;
  std::atomic<std::uint64_t> unread_{0};
};

}  // namespace heapattach
