#include "symbols/runtimes.h"

#include <fmt/format.h>

#include "symbols/ecl/environments.h"
#include "symbols/ecl/names.h"
#include "symbols/guile/names.h"
#include "symbols/guile/smobs.h"
#include "symbols/guile/stacks.h"
#include "symbols/mono/names.h"
#include "symbols/nix/names.h"

namespace heapattach::runtimes {

Runtimes find_runtimes(const Modules& modules, const MemoryReader& memory) {
  return {.guile = guile::find_guile(modules, memory),
          .ecl = ecl::find_ecl(modules, memory),
          .mono = mono::find_mono(modules, memory),
          .nix = nix::find_nix(modules, memory)};
}

MoreRoots more_roots(const Runtimes& runtimes,
                     const heap::BlockIndex& index,
                     const MemoryReader& memory,
                     const MemoryMap& map) {
  MoreRoots roots;
  const auto add = [&](const Range& range, std::string_view name) {
    roots.ranges.push_back({.kind = heap::RootKind::Global, .range = range, .name = name});
  };
  if (runtimes.guile) {
    for (const Range& stack : guile::machine_stacks(*runtimes.guile, index.blocks, memory, map)) {
      add(stack, "(stack of Guile's machine)");
    }
  }
  if (runtimes.ecl) {
    // ECL keeps the collector from looking for modules' data itself.
    add(runtimes.ecl->core, "cl_core");
    add(runtimes.ecl->symbols, "cl_symbols");
    for (const auto& environment : ecl::environments(*runtimes.ecl, index.blocks, memory)) {
      add(environment.range, "(environment of an ECL process)");
      for (const Range& stack : environment.stacks) add(stack, "(stack of an ECL process)");
    }
  }
  if (runtimes.mono && runtimes.mono->roots) {
    const auto found = mono::read_roots(*runtimes.mono->roots, memory);
    for (const Range& range : found.registered) add(range, "(root of Mono)");
    for (const Range& range : found.handles) add(range, "(handles of a thread of Mono)");
    if (!found.are_all) {
      roots.missing =
          "Mono was changing its list of roots, and objects that only some of these keep alive are "
          "missing here";
    }
  }
  return roots;
}

std::string unseen_marks(const Runtimes& runtimes,
                         const heap::Heap& heap,
                         const heap::ObjectSet& live,
                         const MemoryReader& memory,
                         const MemoryMap& map) {
  if (!runtimes.guile) return {};
  const auto types = guile::types_that_mark_elsewhere(*runtimes.guile, heap, live, memory, map);
  if (types.empty()) return {};
  const std::string which = types.size() == 1 ? fmt::format("{} objects", types.front())
                                              : fmt::format("objects of {} types, such as {},",
                                                            types.size(), types.front());
  return fmt::format(
      "the program itself marks what its {} reference in memory outside the heap, and objects that "
      "only these references keep alive are missing here",
      which);
}

ObjectNames name_objects(const Runtimes& runtimes,
                         const heap::Source& heap,
                         std::span<const heap::OwnObject> own,
                         const HeapView& view) {
  if (own.empty() && runtimes.name().empty() && heap.runtime().empty()) return ObjectNames();
  ObjectNames names(view.heap().slots());
  for (const heap::OwnObject& object : own) {
    Shape shape{.name = std::string(object.what)};
    if (!object.holder.empty()) shape = part_of(object.holder, object.what);
    names.set(view.heap().number(object.ref), names.intern(std::move(shape)));
  }
  heap.name_objects(view, names);
  if (runtimes.guile) guile::name_objects(*runtimes.guile, view, names);
  if (runtimes.ecl) ecl::name_objects(*runtimes.ecl, view, names);
  if (runtimes.mono) mono::name_objects(*runtimes.mono, view, names);
  if (runtimes.nix) nix::name_objects(*runtimes.nix, view, names);
  return names;
}

}  // namespace heapattach::runtimes
