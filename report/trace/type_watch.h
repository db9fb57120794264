#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "inject/trace/ring.h"
#include "report/trace/object_types.h"

namespace heapattach::trace {

// Looks at sampled objects a little later, when the program has written their headers, to learn
// their types. By then, an object may be gone and another may use its memory. The ring shows that:
// the end of an object is recorded before its memory can be used again. So a look counts only after
// all records that had been begun by then have been read, and none of them ends the object. It does
// not count if a record of an end was lost, or if the collector has collected without the tracer.
class TypeWatch {
 public:
  // The words in which the target counts its collections, and in which the tracer notes the last
  // one that it saw. No collector is traced if the former is at address 0.
  struct Collections {
    RemoteAddr all;
    RemoteAddr seen;
  };
  // The types and the memory must outlive this.
  TypeWatch(const ObjectTypes& types, const MemoryReader& memory, Collections collections)
      : types_(types), memory_(memory), collections_(collections) {}

  // Begins to watch the object of a new record. Returns its number; 0: it is not watched.
  std::uint64_t add(const RingRecord& record);
  // The object at this address is gone.
  void end(std::uint64_t address);
  // Call this whenever the ring has been read, with the time of its records.
  void advance(const Ring& ring, std::uint64_t now);
  // Ends all looks, because the tracer is being removed.
  void stop() { is_stopped_ = true; }

  // Whether nothing more will be learned about the type of an object.
  [[nodiscard]] bool is_done(std::uint64_t number) const;
  // The type of an object that is done, empty if unknown; forgets it and all earlier ones.
  std::string take(std::uint64_t number);

 private:
  struct Watched {
    std::uint64_t address = 0;
    std::uint64_t time = 0;
    SampledObject object;
    std::uint32_t collection = 0;
    std::uint16_t looks = 0;
    bool is_done = false;
    std::string type;  // not certain until it is done
    std::optional<ObjectTypes::Found> seen;
  };

  void look(const Ring& ring, std::uint64_t now);
  void confirm();
  void settle(Watched& one);
  void end_all();
  [[nodiscard]] std::vector<std::uint64_t> due(std::uint64_t now) const;
  [[nodiscard]] Watched& at(std::uint64_t number) { return watched_[number - first_]; }

  const ObjectTypes& types_;
  const MemoryReader& memory_;
  Collections collections_;
  std::deque<Watched> watched_;  // by number, from first_
  std::uint64_t first_ = 1;
  std::unordered_map<std::uint64_t, std::uint64_t>
      numbers_;                      // numbers of objects that are not done, by address
  std::vector<std::uint64_t> seen_;  // seen by the last look, not confirmed yet
  std::uint64_t seen_up_to_ = 0;     // the ring's position after that look
  std::uint64_t lost_ends_ = 0;
  std::uint64_t next_look_ = 0;
  bool is_stopped_ = false;
};

}  // namespace heapattach::trace
