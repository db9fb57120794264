#include "report/analyze/holding.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "report/analyze/outermost.h"

namespace heapattach::analyze {

using snapshot::TypeIndex;

namespace {

std::vector<TypeIndex> types_by_name(const snapshot::Snapshot& snapshot) {
  std::unordered_map<std::string, TypeIndex> first;
  std::vector<TypeIndex> types;
  for (const snapshot::Type& type : snapshot.types) {
    types.push_back(
        first.try_emplace(type.name, static_cast<TypeIndex>(types.size())).first->second);
  }
  return types;
}

}  // namespace

Holding::Holding(const snapshot::Snapshot& snapshot, RootOrder root_order)
    : roots(std::move(root_order)) {
  const std::vector<TypeIndex> by_name = types_by_name(snapshot);
  bytes.reserve(snapshot.objects.size());
  types.reserve(snapshot.objects.size());
  for (const snapshot::Object& object : snapshot.objects) {
    bytes.push_back(snapshot.bytes_of(object));
    types.push_back(by_name[object.type]);
  }
}

Holding::Holding(const snapshot::Snapshot& snapshot) : Holding(snapshot, RootOrder(snapshot)) {
  dominators = analyze::find_dominators({snapshot.first_edge, snapshot.edges, roots.objects});
  retained = analyze::retained_bytes(dominators, bytes);
  is_outermost = analyze::outermost_of_groups(dominators, types, snapshot.types.size());
}

}  // namespace heapattach::analyze
