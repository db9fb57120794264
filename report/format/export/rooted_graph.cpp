#include "report/format/export/rooted_graph.h"

#include <unordered_map>

#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::ObjectIndex;
using snapshot::Snapshot;

// A location of roots: the objects that it references directly, and its variables with their
// objects.
struct Place {
  std::string label;
  std::vector<ObjectIndex> objects;
  std::vector<std::string> symbols;
  std::vector<std::vector<ObjectIndex>> of_symbol;
};

Place place_of(const Snapshot& snapshot, const RootGroup& group) {
  Place place{group.label, {}, {}, {}};
  std::unordered_map<std::string_view, std::size_t> symbols;
  for (const std::uint32_t index : group.roots) {
    const snapshot::Root& root = snapshot.roots[index];
    const bool is_variable =
        snapshot::root_kind(root.kind).word != snapshot::RootWord::InRegister &&
        !root.symbol.empty();
    if (!is_variable) {
      place.objects.push_back(root.to);
      continue;
    }
    const auto [at, is_new] = symbols.try_emplace(root.symbol, place.symbols.size());
    if (is_new) {
      place.symbols.push_back(terminal_text(root.symbol));
      place.of_symbol.emplace_back();
    }
    place.of_symbol[at->second].push_back(root.to);
  }
  return place;
}

}  // namespace

RootedGraph::RootedGraph(const Snapshot& snapshot) : RootedGraph(snapshot, group_roots(snapshot)) {}

RootedGraph::RootedGraph(const Snapshot& snapshot, const std::vector<RootGroup>& places)
    : objects(snapshot.objects.size()) {
  if (snapshot.first_edge.empty()) {
    first_edge.assign(objects + 1, 0);
  } else {
    first_edge.reserve(objects + 1024);
    first_edge.assign(snapshot.first_edge.begin(), snapshot.first_edge.end());
    edges.reserve(snapshot.edges.size() + snapshot.roots.size() + 1024);
    edges.assign(snapshot.edges.begin(), snapshot.edges.end());
  }
  const auto end_node = [this](std::string label) {
    labels.push_back(std::move(label));
    first_edge.push_back(edges.size());
  };
  for (const RootGroup& group : places) {
    Place place = place_of(snapshot, group);
    const std::size_t first_symbol = size();
    for (std::size_t i = 0; i < place.symbols.size(); ++i) {
      for (const ObjectIndex to : place.of_symbol[i]) edges.push_back({0, to});
      end_node(std::move(place.symbols[i]));
    }
    roots.push_back(static_cast<ObjectIndex>(size()));
    for (const ObjectIndex to : place.objects) edges.push_back({0, to});
    for (std::size_t i = 0; i < place.symbols.size(); ++i) {
      edges.push_back({0, static_cast<ObjectIndex>(first_symbol + i)});
    }
    end_node(std::move(place.label));
  }
}

}  // namespace heapattach
