#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/layout.h"
#include "symbols/elf/module.h"

namespace heapattach::boehm {

// The collector found in a target: where it is, its layout, and its own account of itself.
struct Collector {
  std::string module;   // the name of the module that holds it
  std::string version;  // "8.2.2"; empty if the build does not tell
  Layout layout;

  // Variables of the collector whose addresses are known, for reading them again when frozen.
  std::optional<RemoteAddr> heap_bytes;
  std::optional<RemoteAddr> large_free_bytes;
  std::optional<RemoteAddr> unmapped_bytes;
  std::optional<RemoteAddr> collections;
  std::optional<RemoteAddr> collecting;    // one byte, set while a collection runs
  std::optional<RemoteAddr> mark_state;    // an int, 0 unless a collection was begun and not ended
  std::optional<RemoteAddr> stack_bottom;  // GC_stackbottom, of the first thread

  std::optional<RemoteAddr> no_dls;         // an int: the data of modules is not registered
  std::optional<RemoteAddr> roots_filter;   // the program's function that chooses modules, or 0
  std::optional<RemoteAddr> incremental;    // an int, not 0 in incremental mode
  std::optional<RemoteAddr> allocated;      // bytes since the last collection
  std::optional<RemoteAddr> displacements;  // GC_valid_offsets (displacements.h)

  // Parts of modules that the collector itself never scans: its own tables.
  std::vector<Range> excluded;
  // One of these, GC_obj_kinds: the collector keeps the objects that it points to, the heads of
  // free lists of kinds that the program made.
  std::optional<Range> kinds;
  std::vector<std::string> notes;  // how each thing was learned, for -v
};

// The collector's account, read from its variables. What it does not tell is none. Its own
// functions GC_get_heap_size and GC_get_free_bytes leave the unmapped bytes out; here they are in.
struct Counters {
  std::optional<std::uint64_t> heap_bytes;  // used and free
  std::optional<std::uint64_t> free_bytes;  // in free blocks, mapped or not
  std::optional<std::uint64_t> unmapped_bytes;
  std::optional<std::uint64_t> collections;
  std::optional<bool> collecting;
  std::optional<std::uint64_t> allocated;  // bytes since the last collection
  std::optional<bool> incremental;
};

// Finds the collector, learns its layout from its accessor functions, debug information, a table or
// the shape of its index, and checks it against the live memory. Unsupported if there is none (the
// message says what was looked for), Malformed if none of the layouts fits (it names the misfit).
Result<Collector> find_collector(const Modules& modules,
                                 const MemoryReader& memory,
                                 const MemoryMap& map);

Counters read_counters(const Collector& collector, const MemoryReader& memory);

}  // namespace heapattach::boehm
