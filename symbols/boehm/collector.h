#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/memory_map.h"
#include "attach/memory_reader.h"
#include "symbols/boehm/layout.h"
#include "symbols/module.h"

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
  std::optional<RemoteAddr> collecting;
  std::optional<RemoteAddr> stack_bottom;  // GC_stackbottom, of the first thread

  // Parts of modules that the collector itself never scans: its own tables.
  std::vector<Range> excluded;
  std::vector<std::string> notes;  // how each thing was learned, for -v
};

// The collector's account, read from its variables. What it does not tell is none.
struct Counters {
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> free_bytes;  // in free blocks
  std::optional<std::uint64_t> unmapped_bytes;
  std::optional<std::uint64_t> collections;
  std::optional<bool> collecting;
};

// Finds the collector, learns its layout from its accessor functions, debug information or a table,
// and checks it against the live memory. Unsupported if there is none (the message says what was
// looked for), Malformed if none of the layouts fits (it names the misfit).
Result<Collector> find_collector(const Modules& modules,
                                 const MemoryReader& memory,
                                 const MemoryMap& map);

Counters read_counters(const Collector& collector, const MemoryReader& memory);

}  // namespace heapattach::boehm
