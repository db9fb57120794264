#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/freeze.h"
#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/blocks.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::crystal {

// Where this program's Fiber objects keep what we need. Offsets in bytes from the object's start.
// Default-constructed, it is empty.
struct FiberLayout {
  std::optional<std::uint32_t> type_id;
  std::uint64_t object_bytes = 0;  // of the smallest, with slack; 0: no object seen yet
  std::uint64_t stack_top = 0;     // "am I resumable" is the word after it
  std::uint64_t stack_bottom = 0;
  std::optional<std::uint64_t> next;  // of all fibers there are; either both or none
  std::optional<std::uint64_t> previous;
  std::optional<std::uint64_t> name;

  [[nodiscard]] bool is_known() const { return type_id && object_bytes != 0 && stack_bottom != 0; }
};

// A fiber that is not finished.
struct FiberStack {
  RemoteAddr object;
  Range stack;              // in use: from its stack pointer to its cold end
  RemoteAddr name;          // of the String; 0 if it has none
  bool is_running = false;  // on a thread: its stack pointer is the thread's
};

// Learns the layout of Fiber objects: from the fields in `types`, otherwise from an object with a
// word that is the start of a fiber's stack, one that is its end, and one that points into it. May
// be used on a running target: results from torn words do not agree and are dropped.
FiberLayout learn_fibers(const TypeTable& types,
                         const boehm::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map);

// The fibers of a frozen target, by address. Finished ones, whose stacks may still be mapped or
// belong to others by now, are no longer in the list that links all fibers, and are left out. If
// `layout` is not known it is learned here. Linear in the objects that are as large as a Fiber and
// not much larger, for the collector gives one request different sizes.
std::vector<FiberStack> suspended_fibers(const FiberLayout& layout,
                                         const boehm::BlockIndex& index,
                                         const MemoryReader& memory,
                                         const MemoryMap& map,
                                         std::span<const FrozenThread> threads);

// What the program calls it; empty if nothing or unreadable. At most 256 bytes.
std::string fiber_name(const FiberStack& fiber, const MemoryReader& memory);

}  // namespace heapattach::crystal
