#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/analyze/edge_names.h"
#include "report/analyze/graph.h"
#include "report/analyze/root_paths.h"
#include "report/analyze/root_quality.h"
#include "report/analyze/roots.h"
#include "report/model/model.h"

namespace heapattach::analyze {

// Replaces a path that nobody can read. The best root may reach objects only through many words
// without names: a handler of signals references a closure, that another one, and so on. If another
// root reaches the same objects by a path with at most a third of such steps, that path comes
// first. Borrows everything.
class ReadablePaths {
 public:
  // `graph` has the edges.
  ReadablePaths(const snapshot::Snapshot& snapshot,
                const Graph& graph,
                const RootOrder& roots,
                EdgeNames& names)
      : snapshot_(snapshot), graph_(graph), roots_(roots), names_(names), qualities_(snapshot) {}

  struct Path {
    RootPath root_path;  // to the nearest of the objects
    std::string summary;
  };
  // A path to all of `objects`, if `path` to them is hard to read and there is a better one.
  [[nodiscard]] std::optional<Path> instead_of(const RootPath& path,
                                               const std::vector<ObjectIndex>& objects);

  // The same for one object, among its paths from the roots of `paths`: the place in
  // paths.roots() of the one that comes first.
  [[nodiscard]] std::size_t first_of(const PathsToObject& paths);

 private:
  [[nodiscard]] std::size_t unnamed_steps(const RootPath& path);
  [[nodiscard]] bool is_readable(const snapshot::Root& root);
  void search();

  const snapshot::Snapshot& snapshot_;
  const Graph& graph_;
  const RootOrder& roots_;
  EdgeNames& names_;
  RootQualities qualities_;
  // The roots that a person can read: their places in `roots_`, and their numbers.
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> numbers_;
  std::optional<ShortestPaths> found_;  // from these; none: not searched yet
};

}  // namespace heapattach::analyze
