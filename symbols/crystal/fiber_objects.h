#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/size_classes.h"
#include "symbols/crystal/fibers.h"
#include "symbols/heap/blocks.h"

// The objects that may be fibers: shared by the code that learns their layout and the code that
// finds them.

namespace heapattach::crystal {

using Words = std::span<const std::uint64_t>;

inline constexpr std::uint64_t kLargestFiber = 512;

// Whether a program whose smallest fibers are in slots of `smallest` bytes can have fibers in slots
// of this size.
inline bool may_be_fiber(std::uint64_t bytes, std::uint64_t smallest) {
  return bytes <= smallest || boehm::may_hold_request(bytes, smallest);
}

inline std::uint32_t id_of(Words words) {
  return static_cast<std::uint32_t>(words[0]);
}

struct Object {
  RemoteAddr at;
  Words words;
};

// Objects by address. Their words are in a few large pieces: there may be 100,000 objects, and the
// target is stopped.
class Objects {
 public:
  Objects() = default;
  Objects(Objects&&) noexcept = default;
  Objects& operator=(Objects&&) noexcept = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() = default;

  // Adds an object at an address above all others.
  void add(RemoteAddr at, Words words);
  // Adds other objects than these.
  void merge(Objects more);

  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  [[nodiscard]] bool empty() const { return objects_.empty(); }
  [[nodiscard]] const Object& operator[](std::size_t i) const { return objects_[i]; }
  [[nodiscard]] auto begin() const { return objects_.begin(); }
  [[nodiscard]] auto end() const { return objects_.end(); }

  // The object at this address; null if there is none. Faster if it is near `from`, one of these.
  [[nodiscard]] const Object* find(std::uint64_t at, const Object& from) const;

 private:
  std::vector<Object> objects_;
  std::vector<std::vector<std::uint64_t>> pieces_;  // none of them ever grows into other memory
};

using ChooseBlock = std::function<bool(const heap::Block&)>;
using VisitObject = std::function<void(RemoteAddr at, Words words)>;

// Calls `visit` for each object, in use or free, whose size is plausible for a fiber, in the
// blocks that `choose` accepts.
void each_object(const heap::BlockIndex& index,
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
                   const heap::BlockIndex& index,
                   const MemoryReader& memory,
                   const ChooseBlock& choose);

// The size up to the end of the last known field.
std::uint64_t needed_bytes(const FiberLayout& layout);

// Learns the layout from the objects themselves, using only those with `id` if it is given.
FiberLayout learn_layout(std::optional<std::uint32_t> id,
                         const heap::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map);

// Whether there is a String at this address: its id is 1 in every program, and it ends in a NUL.
bool is_string(RemoteAddr at, const MemoryReader& memory);

}  // namespace heapattach::crystal
