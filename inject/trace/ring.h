#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "attach/fd.h"
#include "inject/trace/layout.h"

namespace heapattach::trace {

// Our end of the ring. The target may write anything into it: nothing in it is believed.
class Ring {
 public:
  // What the target has counted.
  struct Counts {
    std::uint64_t dropped = 0;
    std::uint64_t lost_ends = 0;
    std::uint64_t untracked = 0;
    std::uint64_t missed_collections = 0;
    bool has_given_up = false;
  };
  // A record, and the stack above its caller's stack pointer.
  struct Entry {
    RingRecord record{};
    std::span<const std::byte> stack;
  };

  // `file` has the head at `offset`, and then `bytes` of records, a power of two.
  static Result<Ring> map(const Fd& file, std::uint64_t offset, std::uint64_t bytes);
  ~Ring();
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&& other) noexcept;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // The oldest record, valid until pop(); none if there is none, or if it is not whole yet.
  // Malformed if it makes no sense: then nothing after it can be found.
  Result<std::optional<Entry>> front() const;
  void pop();
  // True if a record has been begun and is not whole.
  [[nodiscard]] bool is_waiting() const;

  // Shows that we live.
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
