#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heapattach::trace {

// The index that means none: an unknown type, or no fiber.
inline constexpr std::uint32_t kNone = 0xffffffff;

enum class EventKind : std::uint8_t {
  Alloc,
  // A block that moved: allocates `address` and frees `old_address`. If the two are equal, it grew
  // or shrank in place, and nothing was allocated.
  Realloc,
  Free,  // by the program
  Dead,  // found unreachable
};

// An event in the life of a sampled allocation.
struct Event {
  EventKind kind = EventKind::Alloc;
  std::uint64_t time_ns = 0;     // since the start of the trace
  std::uint32_t thread = kNone;  // index into Trace::threads
  std::uint32_t fiber = kNone;   // index into Trace::fibers
  std::uint64_t address = 0;
  // The following members are for Alloc and Realloc, and 0 or kNone for other events.
  std::uint64_t old_address = 0;  // for Realloc
  std::uint64_t bytes = 0;        // the size that the program requested
  std::uint32_t type = kNone;     // index into Trace::types
  std::uint32_t stack = kNone;    // index into Trace::stacks
  // For an allocation, the number of collections since the program started. For Dead, the number of
  // the collection that found it, or 0 for the mark at the end of the trace. 0 for Free.
  std::uint64_t collection = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

// Stores events in order, in about 15 bytes each, so that ten million of them fit into 200 MB. Each
// event is stored as its difference from the previous one, in variable-length numbers, so events
// can only be read from first to last.
class EventLog {
 public:
  void add(const Event& event);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // The memory used by the packed events.
  [[nodiscard]] std::size_t memory_bytes() const;

  class Reader;
  // Frees events that this reader has read. No other reader can read them afterwards.
  void forget_read(const Reader& reader);

  // Reads the log from the start. After events have been added, it continues with them.
  class Reader {
   public:
    explicit Reader(const EventLog& log) : log_(&log) {}
    // Returns false at the present end.
    bool next(Event& event);

   private:
    friend class EventLog;
    std::uint64_t number();

    const EventLog* log_;
    std::size_t chunk_ = 0;
    std::size_t at_ = 0;
    Event last_{};
  };

 private:
  void put(std::uint64_t number);

  std::vector<std::vector<std::uint8_t>> chunks_;  // no event is split between two chunks
  std::size_t size_ = 0;
  std::size_t forgotten_ = 0;  // this many chunks at the start have been freed
  Event last_{};
};

}  // namespace heapattach::trace
