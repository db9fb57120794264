#include "report/analyze/object_sizes.h"

#include <vector>

#include <fmt/format.h>

#include "report/analyze/explaining_roots.h"
#include "report/analyze/find.h"
#include "report/analyze/retention.h"
#include "report/analyze/root_paths.h"

namespace heapattach::analyze {

Result<ObjectSizes> find_object_sizes(const snapshot::Snapshot& snapshot,
                                      const std::string& address) {
  const auto at = parse_address(address);
  if (!at) return Error{ErrorKind::Malformed, fmt::format("{} is not an address", address)};
  ObjectSizes sizes;
  sizes.object = HA_TRY(find_object(snapshot, *at));
  FlatArray<std::uint64_t> bytes;
  bytes.reserve(snapshot.objects.size());
  for (const snapshot::Object& object : snapshot.objects) {
    bytes.push_back(snapshot.bytes_of(object));
  }
  sizes.bytes = bytes[sizes.object];
  const std::vector<snapshot::ObjectIndex> itself = {sizes.object};
  const analyze::Graph below{snapshot.first_edge, snapshot.edges, itself};
  for (const auto object : analyze::shortest_root_paths(below).order) {
    sizes.transitive_bytes += bytes[object];
  }
  const auto roots = analyze::objects_of(snapshot, analyze::explaining_roots(snapshot).numbers);
  const analyze::Graph whole{snapshot.first_edge, snapshot.edges, roots};
  sizes.retained_bytes = retained_by(whole, sizes.object, bytes);
  return sizes;
}

}  // namespace heapattach::analyze
