#include "report/explain/object_sizes.h"

#include <vector>

#include <fmt/format.h>

#include "report/explain/find.h"
#include "report/graph/dominators.h"
#include "report/graph/telling_roots.h"
#include "report/graph/ways.h"

namespace heapattach::explain {

Result<ObjectSizes> find_object_sizes(const snapshot::Snapshot& snapshot,
                                      const std::string& address) {
  const auto at = parse_address(address);
  if (!at) return Error{ErrorKind::Malformed, fmt::format("{} is no address", address)};
  ObjectSizes sizes;
  sizes.object = HA_TRY(find_object(snapshot, *at));
  std::vector<std::uint64_t> bytes;
  bytes.reserve(snapshot.objects.size());
  for (const snapshot::Object& object : snapshot.objects) {
    bytes.push_back(snapshot.bytes_of(object));
  }
  sizes.bytes = bytes[sizes.object];
  const std::vector<snapshot::ObjectIndex> itself = {sizes.object};
  const graph::Graph below{snapshot.first_edge, snapshot.edges, itself};
  for (const auto object : graph::shortest_ways(below).order) {
    sizes.transitive_bytes += bytes[object];
  }
  const auto roots = graph::objects_of(snapshot, graph::telling_roots(snapshot).numbers);
  const graph::Graph whole{snapshot.first_edge, snapshot.edges, roots};
  const auto retained = graph::retained_bytes(graph::find_dominators(whole), bytes);
  sizes.retained_bytes = retained[sizes.object];
  return sizes;
}

}  // namespace heapattach::explain
