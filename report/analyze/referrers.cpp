#include "report/analyze/referrers.h"

namespace heapattach::analyze {

Referrers::Referrers(const Graph& graph) {
  first_.assign(graph.size() + std::size_t{1}, 0);
  for (const snapshot::Edge& edge : graph.edges) ++first_[edge.to];
  std::uint64_t end = 0;
  for (std::uint64_t& first : first_) first = end += first;
  referrers_.resize(end);
  // Goes backwards and counts down, so that first_ ends up at the beginning of each range.
  for (ObjectIndex from = graph.size(); from-- > 0;) {
    const auto edges = graph.from(from);
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      referrers_[--first_[edge->to]] = {from, edge->offset_words};
    }
  }
}

}  // namespace heapattach::analyze
