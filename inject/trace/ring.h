#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "attach/base/fd.h"
#include "inject/trace/arch/layout.h"

namespace heapattach::trace {

// Our end of the ring. The target may write anything into it, so nothing in it is trusted.
class Ring {
 public:
  // Counters kept by the target.
  struct Counts {
    std::uint64_t dropped = 0;
    std::uint64_t lost_ends = 0;
    std::uint64_t untracked = 0;
    std::uint64_t missed_collections = 0;
    bool has_given_up = false;
  };
  // A record, with the copied stack above the caller's stack pointer.
  struct Entry {
    RingRecord record{};
    std::span<const std::byte> stack;
  };

  // Maps the ring. `file` has the head at `offset`, and then `bytes` of records, a power of two.
  static Result<Ring> map(const Fd& file, std::uint64_t offset, std::uint64_t bytes);
  ~Ring();
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&& other) noexcept;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Returns the oldest record, valid until pop(); nothing if there is no record or it is not
  // complete yet. Returns Malformed if it makes no sense; the records after it cannot be found
  // then.
  [[nodiscard]] Result<std::optional<Entry>> front() const;
  void pop();
  // These positions only grow. written() is the end of the records that have been started, taken()
  // the end of those that we have read.
  [[nodiscard]] std::uint64_t written() const;
  [[nodiscard]] std::uint64_t taken() const { return tail_; }
  // Whether a record has been started but is not complete.
  [[nodiscard]] bool is_waiting() const;

  // Shows the blob that we are alive.
  void beat();
  [[nodiscard]] Counts counts() const;

 private:
  Ring(std::byte* begin, std::uint64_t bytes) noexcept : begin_(begin), bytes_(bytes) {}
  [[nodiscard]] RingHead& head() const;
  [[nodiscard]] std::byte* records() const { return begin_ + kRingHeadBytes; }

  std::byte* begin_ = nullptr;  // null after a move
  std::uint64_t bytes_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace heapattach::trace
