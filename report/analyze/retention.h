#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/base/flat_array.h"
#include "report/analyze/dominators.h"
#include "report/analyze/graph.h"
#include "report/analyze/root_paths.h"

// Computes the objects and bytes that an object retains, and the objects that retain it.
namespace heapattach::analyze {

// An object that all paths to some other objects go through, and the bytes that it retains.
struct Dominator {
  ObjectIndex object = 0;
  std::uint64_t retained_bytes = 0;

  friend bool operator==(const Dominator&, const Dominator&) = default;
};

struct Retention {
  std::uint64_t bytes = 0;            // that the objects retain; 0 if they are unreachable
  std::vector<Dominator> dominators;  // the dominators of all the objects, outermost first
};

// The retention of one object, by a single search from the roots, which does not find the
// dominators of all other objects. `path` is a path to the object from a root of `graph` that
// visits no object twice. Empty: the object is unreachable.
[[nodiscard]] Retention retention_of(const Graph& graph,
                                     const RootPath& path,
                                     std::span<const std::uint64_t> bytes);
// The bytes that an object retains, without its dominators.
[[nodiscard]] std::uint64_t retained_by(const Graph& graph,
                                        ObjectIndex object,
                                        std::span<const std::uint64_t> bytes);

// The retention of a set of objects. Borrows nothing.
class Retentions {
 public:
  Retentions(const Graph& graph, std::span<const std::uint64_t> bytes);

  [[nodiscard]] Retention of(const std::vector<ObjectIndex>& objects) const;
  // The bytes that the objects retain together. An object that another one retains counts once.
  [[nodiscard]] std::uint64_t bytes_of(const std::vector<ObjectIndex>& objects) const;

 private:
  [[nodiscard]] std::vector<Dominator> dominators_of(const std::vector<ObjectIndex>& objects) const;

  Dominators dominators_;
  FlatArray<std::uint64_t> retained_;
};

}  // namespace heapattach::analyze
