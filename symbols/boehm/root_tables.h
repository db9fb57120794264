#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory_reader.h"
#include "symbols/boehm/collector.h"

namespace heapattach::boehm {

// An entry of GC_static_roots.
struct RootArea {
  Range range;
  // Registered by the collector for a module, and again at each collection. Others come from the
  // program: GC_add_roots.
  bool is_temporary = false;

  friend bool operator==(const RootArea&, const RootArea&) = default;
};

// The collector's own account of its static roots (mark_rts.c), as its tables hold it.
struct RootTables {
  bool has_index = false;         // the table of areas was found; it is not while it is empty
  std::vector<RootArea> areas;    // sorted
  std::vector<Range> excluded;    // sorted; empty if the table was not found
  bool registers_modules = true;  // a collection registers the data of the loaded modules …
  bool filters_modules = false;   // … that the program's callback agrees to
  std::string problem;            // why areas may be missing; empty if none can be
};

// Finds both tables by content in the module's data, of which `collector_data` are the parts, near
// the block index: GC_excl_table holds the very part of GC_arrays that it is in, and each entry of
// GC_root_index leads to a chain of areas whose starts have its number as their hash. To be called
// while the target is held.
RootTables read_root_tables(const Collector& collector,
                            std::span<const Range> collector_data,
                            const MemoryReader& memory);

}  // namespace heapattach::boehm
