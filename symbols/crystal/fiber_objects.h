#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/blocks.h"
#include "symbols/crystal/fibers.h"

// The objects that may be fibers: shared by the code that learns their layout and the code that
// finds them.

namespace heapattach::crystal {

using Words = std::span<const std::uint64_t>;

inline constexpr std::uint64_t kLargestFiber = 512;

// Whether a program whose smallest fibers have `smallest` bytes can have fibers of this size.
inline bool may_be_fiber(std::uint64_t bytes, std::uint64_t smallest) {
  return bytes <= smallest * 5 / 4 + 16;
}

inline std::uint32_t id_of(Words words) {
  return static_cast<std::uint32_t>(words[0]);
}

struct Object {
  RemoteAddr at;
  std::vector<std::uint64_t> words;
};

using Objects = std::vector<Object>;  // sorted by address

const Object* find_object(const Objects& objects, std::uint64_t at);  // null if there is none

using ChooseBlock = std::function<bool(const boehm::Block&)>;
using VisitObject = std::function<void(RemoteAddr at, Words words)>;

// Calls `visit` for each object, in use or free, whose size is plausible for a fiber, in the
// blocks that `choose` accepts.
void each_object(const boehm::BlockIndex& index,
                 const MemoryReader& memory,
                 const ChooseBlock& choose,
                 const VisitObject& visit);

struct Wanted {
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;             // read from each object; smaller objects are skipped
  std::size_t most = ~std::size_t{0};  // about this many are enough
};

// The first words of the objects with this id, including free slots and anything else that starts
// with the same word.
Objects objects_of(const Wanted& wanted,
                   const boehm::BlockIndex& index,
                   const MemoryReader& memory,
                   const ChooseBlock& choose);

// The size up to the end of the last known field.
std::uint64_t needed_bytes(const FiberLayout& layout);

// Learns the layout from the objects themselves, using only those with `id` if it is given.
FiberLayout learn_layout(std::optional<std::uint32_t> id,
                         const boehm::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map);

// Whether there is a String at this address: its id is 1 in every program, and it ends in a NUL.
bool is_string(RemoteAddr at, const MemoryReader& memory);

}  // namespace heapattach::crystal
