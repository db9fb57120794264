#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "symbols/boehm/layout.h"
#include "symbols/elf/module.h"
#include "symbols/heap/counters.h"

namespace heapattach::boehm {

// The collector of a target: where it is, its layout, and its own counters.
struct Collector {
  std::string module;   // the name of the module that contains it
  std::string version;  // "8.2.2"; empty if unknown
  Layout layout;

  // Variables of the collector with known addresses, to be read again when frozen.
  std::optional<RemoteAddr> heap_bytes;
  std::optional<RemoteAddr> large_free_bytes;
  std::optional<RemoteAddr> unmapped_bytes;
  std::optional<RemoteAddr> collections;
  std::optional<RemoteAddr> collecting;    // one byte, set while a collection runs
  std::optional<RemoteAddr> mark_state;    // an int, not 0 during a collection
  std::optional<RemoteAddr> stack_bottom;  // GC_stackbottom: the end of the first thread's stack

  std::optional<RemoteAddr> no_dls;  // an int: not 0 if the data of modules is not registered
  // A pointer to the program's function that filters modules, or 0.
  std::optional<RemoteAddr> roots_filter;
  std::optional<RemoteAddr> incremental;    // an int, not 0 in incremental mode
  std::optional<RemoteAddr> allocated;      // bytes since the last collection
  std::optional<RemoteAddr> displacements;  // GC_valid_offsets (displacements.h)

  // The collector's own tables: parts of its module that it never scans.
  std::vector<Range> excluded;
  // GC_obj_kinds, which is one of these tables. The collector retains the objects that it
  // references: the heads of free lists of the program's own kinds.
  std::optional<Range> kinds;
  std::vector<std::string> notes;  // the source of each fact, for -v
};

// Finds the collector, learns its layout from its accessor functions, debug information, a table or
// the shape of its index, and checks the layout against the live memory. Returns Unsupported if
// there is no collector (the message lists what was searched), and Malformed if no layout fits (the
// message names the mismatch).
Result<Collector> find_collector(const Modules& modules,
                                 const MemoryReader& memory,
                                 const MemoryMap& map,
                                 const Deadline& deadline = {});

// Reads the counters from the collector's variables. They include unmapped bytes, which the
// collector's functions GC_get_heap_size and GC_get_free_bytes omit.
heap::Counters read_counters(const Collector& collector, const MemoryReader& memory);

}  // namespace heapattach::boehm
