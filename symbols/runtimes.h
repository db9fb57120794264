#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/ecl/facts.h"
#include "symbols/elf/module.h"
#include "symbols/guile/facts.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/mark.h"
#include "symbols/heap/source.h"
#include "symbols/mono/facts.h"
#include "symbols/nix/facts.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

// The runtimes of other languages that keep their objects in the collector's heap. This is the
// interface for the rest of the program.
namespace heapattach::runtimes {

struct Runtimes {
  std::optional<guile::Facts> guile;
  std::optional<ecl::Facts> ecl;
  std::optional<mono::Facts> mono;
  std::optional<nix::Facts> nix;

  // The name used in the header of a snapshot; empty if there is no such runtime.
  [[nodiscard]] std::string_view name() const {
    return guile ? "guile" : ecl ? "ecl" : mono ? "mono" : nix ? "nix" : "";
  }
  // Whether more_roots() includes the roots that the runtime pushes through its own function
  // (GC_set_push_other_roots). Guile has no such function.
  [[nodiscard]] bool follows_root_hook() const { return ecl.has_value() || (mono && mono->roots); }
};

// Reads a small amount of the target's memory to recognise the runtime and check its layout.
[[nodiscard]] Runtimes find_runtimes(const Modules& modules, const MemoryReader& memory);

// The memory that a runtime's own code adds as roots.
struct MoreRoots {
  std::vector<heap::RootRange> ranges;
  std::string missing;  // why there may be more; at another moment all may be found
};
// `memory` is the frozen target's.
[[nodiscard]] MoreRoots more_roots(const Runtimes& runtimes,
                                   const heap::BlockIndex& index,
                                   const MemoryReader& memory,
                                   const MemoryMap& map);

// Why objects may be missing in `live`: functions of the program mark them that cannot be followed.
// Empty if there are no such functions.
[[nodiscard]] std::string unseen_marks(const Runtimes& runtimes,
                                       const heap::Heap& heap,
                                       const heap::ObjectSet& live,
                                       const MemoryReader& memory,
                                       const MemoryMap& map);

// Names the objects of `view`: those that the heap's owner knows, its own and those of libraries,
// `own`, and the runtime's.
[[nodiscard]] ObjectNames name_objects(const Runtimes& runtimes,
                                       const heap::Source& heap,
                                       std::span<const heap::OwnObject> own,
                                       const HeapView& view);

}  // namespace heapattach::runtimes
