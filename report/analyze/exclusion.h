#pragma once

#include <string>
#include <vector>

#include "attach/base/flat_array.h"
#include "attach/base/result.h"
#include "report/analyze/edge_names.h"
#include "report/analyze/graph.h"

namespace heapattach::analyze {

// Edges to ignore, such as those of weak references: a glob for the type that contains them and one
// for their name.
struct Exclusion {
  std::string type;
  std::string field;
};

// Parses "WeakRef(*):@target". The type's name may contain colons; the field's name may not.
Result<Exclusion> parse_exclusion(const std::string& text);

// The edges of a snapshot without the excluded ones. Copies the edges if any of them is excluded.
class RemainingEdges {
 public:
  RemainingEdges(const snapshot::Snapshot& snapshot,
                 const std::vector<Exclusion>& exclusions,
                 EdgeNames& names);

  // The result borrows the snapshot, `roots` and this object.
  [[nodiscard]] analyze::Graph graph(const std::vector<snapshot::ObjectIndex>& roots) const;
  [[nodiscard]] std::uint64_t excluded() const { return excluded_; }
  // The exclusions that match no edge, as the user wrote them.
  [[nodiscard]] const std::vector<std::string>& unused() const { return unused_; }

 private:
  const snapshot::Snapshot& snapshot_;
  bool is_copy_ = false;
  FlatArray<std::uint64_t> first_edge_;
  FlatArray<snapshot::Edge> edges_;
  std::uint64_t excluded_ = 0;
  std::vector<std::string> unused_;
};

}  // namespace heapattach::analyze
