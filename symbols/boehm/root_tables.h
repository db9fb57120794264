#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "symbols/boehm/collector.h"

namespace heapattach::boehm {

// An entry of GC_static_roots.
struct RootArea {
  Range range;
  // Registered by the collector for a module, and again at each collection. Other areas were
  // registered by the program with GC_add_roots.
  bool is_temporary = false;

  friend bool operator==(const RootArea&, const RootArea&) = default;
};

// The collector's own tables of its static roots (mark_rts.c).
struct RootTables {
  bool has_index = false;         // the table of areas was found; an empty table cannot be found
  std::vector<RootArea> areas;    // sorted
  std::vector<Range> excluded;    // sorted; empty if the table was not found
  bool registers_modules = true;  // each collection registers the data of the loaded modules …
  bool filters_modules = false;   // … if the program's callback agrees
  std::string problem;            // why areas may be missing; empty if none are
};

// Finds both tables by content in the module's data (`collector_data`), near the block index.
// GC_excl_table is recognised by an entry for the part of GC_arrays that contains it. Each entry of
// GC_root_index points to a chain of areas whose starts hash to its number. Call it while the
// target is held.
RootTables read_root_tables(const Collector& collector,
                            std::span<const Range> collector_data,
                            const MemoryReader& memory);

}  // namespace heapattach::boehm
