#include "report/graph/type_sizes.h"

#include <atomic>
#include <string>
#include <unordered_map>

#include "report/graph/dominators.h"
#include "report/graph/outermost.h"
#include "report/graph/telling_roots.h"
#include "report/graph/transitive.h"
#include "report/parallel.h"

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

// What each object retains, and whether none of its group retains it in turn.
struct Retained {
  Dominators dominators;
  std::vector<std::uint64_t> bytes;
  std::vector<bool> is_outermost;
};

Retained retained_in(const Graph& graph,
                     std::span<const TypeIndex> groups,
                     std::span<const std::uint64_t> bytes,
                     std::size_t group_count) {
  Retained found;
  found.dominators = find_dominators(graph);
  found.bytes = retained_bytes(found.dominators, bytes);
  found.is_outermost = outermost_of_groups(found.dominators, groups, group_count);
  return found;
}

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
  std::vector<std::uint64_t> transitive;
  Retained retained;
  // Neither needs the other, and both are walks that only one core can take.
  std::atomic<int> next = 0;
  run_workers(workers_for(2), [&](unsigned) {
    for (int piece = next++; piece < 2; piece = next++) {
      if (piece == 0) {
        retained = retained_in(graph, groups, bytes, count);
      } else {
        transitive = transitive_bytes(graph, groups, bytes, count);
      }
    }
  });
  std::vector<std::uint64_t> sums(count);
  for (const ObjectIndex object : retained.dominators.order) {
    if (retained.is_outermost[object]) sums[groups[object]] += retained.bytes[object];
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
  const Retained retained =
      retained_in({snapshot.first_edge, snapshot.edges, roots}, groups, bytes, 2);
  std::uint64_t sum = 0;
  for (const ObjectIndex object : retained.dominators.order) {
    if (retained.is_outermost[object] && groups[object] == 0) sum += retained.bytes[object];
  }
  return sum;
}

}  // namespace heapattach::graph
