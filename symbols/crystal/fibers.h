#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "symbols/crystal/type_table.h"
#include "symbols/heap/blocks.h"

namespace heapattach::crystal {

// The layout of this program's Fiber objects, as offsets in bytes from the start of the object.
// Empty if default-constructed.
struct FiberLayout {
  std::optional<std::uint32_t> type_id;
  std::uint64_t object_bytes = 0;  // of the smallest, with slack; 0: no object seen yet
  std::uint64_t stack_top = 0;     // the next word is the "resumable" flag
  std::uint64_t stack_bottom = 0;
  std::optional<std::uint64_t> next;  // in the list of all fibers; either both or none
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
  bool has_ended = false;   // a thread still uses its stack, to look for another fiber
};

// Learns the layout of Fiber objects: from the fields in `types`, otherwise from an object with a
// word that is the start of a fiber's stack, one that is its end, and one that points into it. May
// be used on a running target: inconsistent results are detected and dropped.
FiberLayout learn_fibers(const TypeTable& types,
                         const heap::BlockIndex& index,
                         const MemoryReader& memory,
                         const MemoryMap& map);

// The fibers of a frozen target, by address. Finished fibers, whose stacks may still be mapped or
// belong to other fibers by now, are no longer in the list of all fibers, and are omitted. Learns
// `layout` first if it is empty. Takes time linear in the number of objects of about the size of a
// Fiber; the size can vary because the collector rounds requests up differently.
std::vector<FiberStack> suspended_fibers(const FiberLayout& layout,
                                         const heap::BlockIndex& index,
                                         const MemoryReader& memory,
                                         const MemoryMap& map,
                                         std::span<const FrozenThread> threads);

// The fiber's name; empty if it has none or it is unreadable. At most 256 bytes.
std::string fiber_name(const FiberStack& fiber, const MemoryReader& memory);

}  // namespace heapattach::crystal
