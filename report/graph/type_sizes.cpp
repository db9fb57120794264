#include "report/graph/type_sizes.h"

#include <string>
#include <unordered_map>

#include "report/graph/dominators.h"
#include "report/graph/outermost.h"
#include "report/graph/telling_roots.h"
#include "report/graph/transitive.h"

namespace heapattach::graph {

namespace {

using snapshot::CountBy;
using snapshot::CountTable;
using snapshot::Snapshot;
using snapshot::TypeIndex;

// Types that share a row of the table, as one number. Those without a row come last.
struct Groups {
  Groups(const Snapshot& snapshot, CountBy by, const CountTable& table) {
    std::unordered_map<std::string, TypeIndex> by_name;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.rows[row].is_reachable) {
        by_name.emplace(table.rows[row].type, static_cast<TypeIndex>(row));
      }
    }
    none = static_cast<TypeIndex>(table.rows.size());
    for (const snapshot::Type& type : snapshot.types) {
      const auto row = by_name.find(snapshot::row_name(type, by));
      of_type.push_back(row == by_name.end() ? none : row->second);
    }
  }

  std::vector<TypeIndex> of_type;
  TypeIndex none = 0;
};

}  // namespace

void add_sizes(const Snapshot& snapshot, CountBy by, CountTable& table) {
  const Groups names(snapshot, by, table);
  const std::size_t count = table.rows.size() + 1;
  std::vector<TypeIndex> groups;
  std::vector<std::uint64_t> bytes;
  groups.reserve(snapshot.objects.size());
  bytes.reserve(snapshot.objects.size());
  for (const snapshot::Object& object : snapshot.objects) {
    groups.push_back(names.of_type[object.type]);
    bytes.push_back(snapshot.bytes_of(object));
  }
  const std::vector<ObjectIndex> roots = objects_of(snapshot, telling_roots(snapshot));
  const Graph graph{snapshot.first_edge, snapshot.edges, roots};
  const auto transitive = transitive_bytes(graph, groups, bytes, count);
  const Dominators dominators = find_dominators(graph);
  const auto retained = retained_bytes(dominators, bytes);
  const auto is_outermost = outermost_of_groups(dominators, groups, count);
  std::vector<std::uint64_t> sums(count);
  for (const ObjectIndex object : dominators.order) {
    if (is_outermost[object]) sums[groups[object]] += retained[object];
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (!table.rows[row].is_reachable) continue;
    table.rows[row].sizes = snapshot::RowSizes{transitive[row], sums[row]};
  }
  table.has_sizes = true;
}

std::uint64_t retained_by(const Snapshot& snapshot, const std::vector<bool>& is_chosen) {
  std::vector<TypeIndex> groups;
  std::vector<std::uint64_t> bytes;
  groups.reserve(snapshot.objects.size());
  bytes.reserve(snapshot.objects.size());
  for (const snapshot::Object& object : snapshot.objects) {
    groups.push_back(is_chosen[object.type] ? 0 : 1);
    bytes.push_back(snapshot.bytes_of(object));
  }
  const std::vector<ObjectIndex> roots = objects_of(snapshot, telling_roots(snapshot));
  const Dominators dominators = find_dominators({snapshot.first_edge, snapshot.edges, roots});
  const auto retained = retained_bytes(dominators, bytes);
  const auto is_outermost = outermost_of_groups(dominators, groups, 2);
  std::uint64_t sum = 0;
  for (const ObjectIndex object : dominators.order) {
    if (is_outermost[object] && groups[object] == 0) sum += retained[object];
  }
  return sum;
}

}  // namespace heapattach::graph
