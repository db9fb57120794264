#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "symbols/boehm/roots.h"
#include "symbols/ecl/facts.h"
#include "symbols/elf/module.h"
#include "symbols/guile/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

// The runtimes of other languages that keep their objects in the collector's heap: all that the
// rest of the program knows of them.
namespace heapattach::runtimes {

struct Runtimes {
  std::optional<guile::Facts> guile;
  std::optional<ecl::Facts> ecl;

  // As in the header of a snapshot; empty if there is none.
  [[nodiscard]] std::string_view name() const { return guile ? "guile" : ecl ? "ecl" : ""; }
  // Whether more_roots() has what the runtime's own function gives the collector as roots
  // (GC_set_push_other_roots). Guile has none.
  [[nodiscard]] bool follows_root_hook() const { return ecl.has_value(); }
};

// Reads a little of the target's memory, to check what is known about a runtime.
[[nodiscard]] Runtimes find_runtimes(const Modules& modules, const MemoryReader& memory);

// Memory that a runtime makes the collector mark from with its own code. `memory` is that of
// the frozen target.
[[nodiscard]] std::vector<boehm::RootRange> more_roots(const Runtimes& runtimes,
                                                       const boehm::BlockIndex& index,
                                                       const MemoryReader& memory,
                                                       const MemoryMap& map);

// Names the objects of `view`: those of the collector itself, `own`, and the runtime's.
[[nodiscard]] ObjectNames name_objects(const Runtimes& runtimes,
                                       std::span<const boehm::CollectorObject> own,
                                       const HeapView& view);

}  // namespace heapattach::runtimes
