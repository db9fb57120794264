#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/memory_reader.h"
#include "report/stacks/wait_signs.h"
#include "symbols/boehm/blocks.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::stacks {

// What a fiber waits at.
struct AwaitedObject {
  RemoteAddr start;
  std::uint64_t bytes = 0;              // that were copied
  const crystal::Type* type = nullptr;  // null: not known
};

// Finds the channel, mutex or IO that a fiber waits at: an object that a word of its frames leads
// to, and that is of the right class. Where classes are not known it is one that has the fibers
// that wait at it in a list: the list's nodes are on their stacks.
class AwaitedObjects {
 public:
  // `memory` has the fibers' stacks and the beginnings of the objects that they lead to.
  AwaitedObjects(const boehm::BlockIndex& index,
                 const MemoryReader& memory,
                 const crystal::TypeTable& classes,
                 std::span<const crystal::FiberStack> fibers);

  [[nodiscard]] std::optional<AwaitedObject> find(const unwind::StackRecord& record,
                                                  const WaitFrame& wait) const;

  // Whose the mutex is; none if nobody's, or one's who is not there any more.
  [[nodiscard]] std::optional<std::size_t> owner_of(const AwaitedObject& mutex) const;

  // Which words lead to an object: those that are where it starts, or all within it.
  enum class Words : std::uint8_t { Starts, All };
  // The objects that the words of `range` lead to, each once.
  [[nodiscard]] std::vector<AwaitedObject> objects_of(Range range,
                                                      Words words = Words::Starts) const;

 private:
  [[nodiscard]] std::optional<AwaitedObject> object_at(std::uint64_t word, Words words) const;
  [[nodiscard]] bool fits(const AwaitedObject& object, WaitKind kind, bool by_type) const;
  [[nodiscard]] bool has_waiting_list(const AwaitedObject& object) const;
  [[nodiscard]] bool is_held_mutex(const AwaitedObject& object) const;
  [[nodiscard]] bool keeps_no_owner(const AwaitedObject& mutex) const;

  const boehm::BlockIndex& index_;
  const MemoryReader& memory_;
  const crystal::TypeTable& classes_;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;  // fibers
  std::vector<Range> stacks_;                                  // sorted
};

}  // namespace heapattach::stacks
