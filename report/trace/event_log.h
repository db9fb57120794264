#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapattach::trace {

// An index that names nothing: an unknown type, no fiber.
inline constexpr std::uint32_t kNone = 0xffffffff;

enum class EventKind : std::uint8_t {
  Alloc,
  // A block that moved: an allocation at `address`, and the end of the one at `old_address`. If the
  // two are equal, it grew or shrank in place, and nothing was allocated.
  Realloc,
  Free,  // by the program
  Dead,  // found unreachable
};

// What happened to one sampled allocation.
struct Event {
  EventKind kind = EventKind::Alloc;
  std::uint64_t time_ns = 0;     // since the start of the trace
  std::uint32_t thread = kNone;  // of Trace::threads
  std::uint32_t fiber = kNone;   // of Trace::fibers
  std::uint64_t address = 0;
  // The rest is of Alloc and Realloc; it is 0 or kNone for the others.
  std::uint64_t old_address = 0;  // of Realloc
  std::uint64_t bytes = 0;        // that the program asked for
  std::uint32_t type = kNone;     // of Trace::types
  std::uint32_t stack = kNone;    // of Trace::stacks
  // The collections before an allocation, since the program started; of Dead: the number of the
  // collection that found it, 0 if it was the mark at the end of the trace. 0 for Free.
  std::uint64_t collection = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

// Events in the order in which they were added, packed to about 15 bytes each: ten million of them
// are to fit into 200 MB. Each is stored as its difference from the one before, in numbers of
// variable length, so they can only be read from the first to the last.
class EventLog {
 public:
  void add(const Event& event);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // That the packed events take.
  [[nodiscard]] std::size_t memory_bytes() const;

  // Reads the log from its beginning. The log must not change meanwhile.
  class Reader {
   public:
    explicit Reader(const EventLog& log) : log_(&log) {}
    // False at the end.
    bool next(Event& event);

   private:
    std::uint64_t number();

    const EventLog* log_;
    std::size_t chunk_ = 0;
    std::size_t at_ = 0;
    Event last_{};
  };

 private:
  void put(std::uint64_t number);

  std::vector<std::vector<std::uint8_t>> chunks_;  // no event is in two of them
  std::size_t size_ = 0;
  Event last_{};
};

}  // namespace heapattach::trace
