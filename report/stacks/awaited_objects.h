#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "report/stacks/wait_signs.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/heap/blocks.h"

namespace heapattach::stacks {

// The object that a fiber waits for.
struct AwaitedObject {
  RemoteAddr start;
  std::uint64_t bytes = 0;              // number of bytes copied
  const crystal::Type* type = nullptr;  // null: unknown
};

// Finds the channel, mutex or IO that a fiber waits for: an object of the right class that is
// referenced from its frames. If classes are unknown, finds an object with a list of the waiting
// fibers, whose nodes are on their stacks.
class AwaitedObjects {
 public:
  // `memory` contains the fibers' stacks and the start of each object that they reference.
  AwaitedObjects(const heap::BlockIndex& index,
                 const MemoryReader& memory,
                 const crystal::TypeTable& classes,
                 std::span<const crystal::FiberStack> fibers);

  [[nodiscard]] std::optional<AwaitedObject> find(const unwind::StackRecord& record,
                                                  const WaitFrame& wait) const;

  // An object that lists a fiber among those that wait for it.
  struct Listing {
    AwaitedObject object;
    WaitKind kind = WaitKind::Unknown;  // by the object's type, and the list that the fiber is in
  };
  // The first named object that a word of `range` references and that lists the fiber as waiting.
  // `fiber` is the address of the Fiber object.
  [[nodiscard]] std::optional<Listing> listing(Range range, RemoteAddr fiber) const;

  // The fiber that owns the mutex; none if there is no owner, or it no longer exists.
  [[nodiscard]] std::optional<std::size_t> owner_of(const AwaitedObject& mutex) const;

  // The words that count as references: only those to the start of an object, or all that point
  // into it.
  enum class Words : std::uint8_t { Starts, All };
  // The objects that the words of `range` reference, each once.
  [[nodiscard]] std::vector<AwaitedObject> objects_of(Range range,
                                                      Words words = Words::Starts) const;

 private:
  [[nodiscard]] std::optional<AwaitedObject> object_at(std::uint64_t word, Words words) const;
  [[nodiscard]] bool fits(const AwaitedObject& object, WaitKind kind, bool by_type) const;
  [[nodiscard]] bool has_waiting_list(const AwaitedObject& object) const;
  [[nodiscard]] bool is_listed(std::uint64_t head, RemoteAddr fiber) const;
  [[nodiscard]] std::unordered_set<std::uint64_t> fibers_in_list(std::uint64_t head) const;
  [[nodiscard]] bool is_held_mutex(const AwaitedObject& object) const;
  [[nodiscard]] bool keeps_no_owner(const AwaitedObject& mutex) const;

  const heap::BlockIndex& index_;
  const MemoryReader& memory_;
  const crystal::TypeTable& classes_;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;  // fibers
  std::vector<Range> stacks_;                                  // sorted
  mutable std::unordered_map<std::uint64_t, std::unordered_set<std::uint64_t>>
      lists_;  // of waiting fibers, by the address of the first node
};

}  // namespace heapattach::stacks
