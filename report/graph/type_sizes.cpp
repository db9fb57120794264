#include "report/graph/type_sizes.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "report/graph/dominators.h"
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

std::vector<ObjectIndex> roots_of(const Snapshot& snapshot) {
  std::vector<ObjectIndex> roots;
  roots.reserve(snapshot.roots.size());
  for (const snapshot::Root& root : snapshot.roots) roots.push_back(root.to);
  return roots;
}

// The sums of what the objects of each group retain, without those that another object of their
// group dominates. Walks down the tree of dominators with a count of the groups on the way.
class RetainedByGroup {
 public:
  RetainedByGroup(const Dominators& dominators,
                  std::span<const std::uint64_t> retained,
                  std::span<const TypeIndex> groups,
                  std::size_t group_count)
      : dominators_(dominators), retained_(retained), groups_(groups) {
    sums_.resize(group_count);
    above_.resize(group_count);
    link_children();
  }

  std::vector<std::uint64_t> run() && {
    for (const ObjectIndex top : dominators_.order) {
      if (dominators_.of[top] != kNone) continue;
      for (ObjectIndex at = enter(top); at != kNone;) at = next_of(at, top);
    }
    return std::move(sums_);
  }

 private:
  void link_children() {
    first_.assign(dominators_.of.size(), kNone);
    next_.assign(dominators_.of.size(), kNone);
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (by != kNone) next_[object] = std::exchange(first_[by], object);
    }
  }

  ObjectIndex enter(ObjectIndex object) {
    if (above_[groups_[object]]++ == 0) sums_[groups_[object]] += retained_[object];
    return object;
  }

  // The next object of the tree below `top` in the order of a walk; kNone if there is none.
  ObjectIndex next_of(ObjectIndex at, ObjectIndex top) {
    if (first_[at] != kNone) return enter(first_[at]);
    for (;;) {
      --above_[groups_[at]];
      if (at == top) return kNone;
      if (next_[at] != kNone) return enter(next_[at]);
      at = dominators_.of[at];
    }
  }

  const Dominators& dominators_;
  std::span<const std::uint64_t> retained_;
  std::span<const TypeIndex> groups_;
  std::vector<ObjectIndex> first_;    // of the objects that each dominates at once
  std::vector<ObjectIndex> next_;     // with the same dominator
  std::vector<std::uint32_t> above_;  // by group: its objects between here and the top
  std::vector<std::uint64_t> sums_;   // by group
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
  const std::vector<ObjectIndex> roots = roots_of(snapshot);
  const Graph graph{snapshot.first_edge, snapshot.edges, roots};
  const auto transitive = transitive_bytes(graph, groups, bytes, count);
  const Dominators dominators = find_dominators(graph);
  const auto retained = retained_bytes(dominators, bytes);
  const auto sums = RetainedByGroup(dominators, retained, groups, count).run();
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
  const std::vector<ObjectIndex> roots = roots_of(snapshot);
  const Dominators dominators = find_dominators({snapshot.first_edge, snapshot.edges, roots});
  const auto retained = retained_bytes(dominators, bytes);
  return RetainedByGroup(dominators, retained, groups, 2).run().front();
}

}  // namespace heapattach::graph
