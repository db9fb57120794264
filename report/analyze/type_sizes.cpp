#include "report/analyze/type_sizes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "report/analyze/dominators.h"
#include "report/analyze/explaining_roots.h"
#include "report/analyze/outermost.h"
#include "report/parallel.h"

namespace heapattach::analyze {

namespace {

// A walk from each type would take types times edges. Instead, a word of 64 bits flows from the
// front of the graph to its end, over each edge once, and shows which of 64 types reach an object.
// This works if the strongly connected components are visited in order. All objects of a component
// have the same bits. So the edges are walked once for every 64 types that have objects.

class Flow {
 public:
  Flow(const Walk& walk, std::span<const snapshot::TypeIndex> types)
      : walk_(walk), types_(types), reached_by_(walk.objects.size(), 0) {}

  // Adds to `sums` for the types that have a bit: `bit_of` has a number below 64 for them.
  void run(std::span<const std::uint32_t> bit_of,
           std::span<const std::uint64_t> bytes,
           std::span<std::uint64_t> sums) {
    std::fill(reached_by_.begin(), reached_by_.end(), 0);
    for (std::size_t end = walk_.by_part.size(); end > 0;) {
      std::size_t first = end - 1;
      std::uint64_t bits = arriving_at(walk_.by_part[first], bit_of);
      while (first > 0 && !walk_.ends_part[first - 1]) {
        bits |= arriving_at(walk_.by_part[--first], bit_of);
      }
      if (bits != 0) spread({walk_.by_part.data() + first, end - first}, bits, bytes, sums);
      end = first;
    }
  }

 private:
  [[nodiscard]] std::uint64_t arriving_at(Number number,
                                          std::span<const std::uint32_t> bit_of) const {
    const std::uint32_t bit = bit_of[types_[number]];
    std::uint64_t bits = bit < 64 ? std::uint64_t{1} << bit : 0;
    bits |= reached_by_[walk_.parent[number]];
    for (const Number from : walk_.others_to(number)) bits |= reached_by_[from];
    return bits;
  }

  void spread(std::span<const Number> part,
              std::uint64_t bits,
              std::span<const std::uint64_t> bytes,
              std::span<std::uint64_t> sums) {
    std::uint64_t sum = 0;
    for (const Number number : part) {
      sum += bytes[number];
      reached_by_[number] = bits;
    }
    for (std::uint64_t left = bits; left != 0; left &= left - 1) {
      sums[static_cast<std::size_t>(std::countr_zero(left))] += sum;
    }
  }

  const Walk& walk_;
  std::span<const snapshot::TypeIndex> types_;
  FlatArray<std::uint64_t> reached_by_;  // by number: bits of the types that reach it
};

using snapshot::CountBy;
using snapshot::CountTable;
using snapshot::Snapshot;
using snapshot::TypeIndex;

// One number for all types that share a row of the table. Types without a row have the last number.
struct Groups {
  // An empty name means no type.
  Groups(const Snapshot& snapshot, CountBy by, std::span<const std::string_view> rows) {
    std::unordered_map<std::string_view, TypeIndex> by_name;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row].empty()) by_name.emplace(rows[row], static_cast<TypeIndex>(row));
    }
    none = static_cast<TypeIndex>(rows.size());
    for (const snapshot::Type& type : snapshot.types) {
      const auto row = by_name.find(snapshot::row_name(type, by));
      of_type.push_back(row == by_name.end() ? none : row->second);
    }
  }

  std::vector<TypeIndex> of_type;
  TypeIndex none = 0;
};

// The reachable objects, by their numbers in a walk.
struct Numbered {
  Numbered(const Snapshot& snapshot, std::span<const TypeIndex> group_of_type)
      : found(walk({snapshot.first_edge, snapshot.edges, {}}, rooted_objects(snapshot))) {
    groups.resize(found.objects.size(), 0);
    bytes.resize(found.objects.size(), 0);
    for (Number number = 1; number < found.objects.size(); ++number) {
      const snapshot::Object& object = snapshot.objects[found.objects[number]];
      groups[number] = group_of_type[object.type];
      bytes[number] = snapshot.bytes_of(object);
    }
  }

  Walk found;
  FlatArray<TypeIndex> groups;
  FlatArray<std::uint64_t> bytes;
};

// For each group, the bytes that its objects retain. An object that another one of the group
// retains does not count again.
std::vector<std::uint64_t> retained_of_groups(const Numbered& objects, std::size_t group_count) {
  const Dominators dominators = dominators_by_number(objects.found);
  const FlatArray<std::uint64_t> retained = retained_bytes(dominators, objects.bytes);
  const std::vector<bool> is_outermost =
      outermost_of_groups(dominators, objects.groups, group_count);
  std::vector<std::uint64_t> sums(group_count);
  for (const Number number : dominators.order) {
    if (is_outermost[number]) sums[objects.groups[number]] += retained[number];
  }
  return sums;
}

}  // namespace

std::vector<std::uint64_t> transitive_bytes(const Walk& walk,
                                            std::span<const snapshot::TypeIndex> types,
                                            std::span<const std::uint64_t> bytes,
                                            std::size_t type_count) {
  std::vector<bool> is_used(type_count);
  for (const Number number : walk.by_part) is_used[types[number]] = true;
  std::vector<snapshot::TypeIndex> used;
  for (snapshot::TypeIndex type = 0; type < type_count; ++type) {
    if (is_used[type]) used.push_back(type);
  }
  std::vector<std::uint64_t> result(type_count);
  Flow flow(walk, types);
  for (std::size_t first = 0; first < used.size(); first += 64) {
    const std::size_t count = std::min<std::size_t>(64, used.size() - first);
    std::vector<std::uint32_t> bit_of(type_count, kUnseen);
    for (std::uint32_t bit = 0; bit < count; ++bit) bit_of[used[first + bit]] = bit;
    std::vector<std::uint64_t> sums(64);
    flow.run(bit_of, bytes, sums);
    for (std::size_t bit = 0; bit < count; ++bit) result[used[first + bit]] = sums[bit];
  }
  return result;
}

void add_sizes(const Snapshot& snapshot, CountBy by, CountTable& table) {
  std::vector<std::string_view> rows;
  for (const snapshot::CountRow& row : table.rows) {
    rows.push_back(row.is_reachable ? std::string_view(row.type) : std::string_view());
  }
  const Groups names(snapshot, by, rows);
  const std::size_t count = table.rows.size() + 1;
  const Numbered objects(snapshot, names.of_type);
  std::vector<std::uint64_t> transitive;
  std::vector<std::uint64_t> retained;
  // The two walks are independent, and each has a single thread.
  std::atomic<int> next = 0;
  run_workers(workers_for(2), [&](unsigned) {
    for (int piece = next++; piece < 2; piece = next++) {
      if (piece == 0) {
        retained = retained_of_groups(objects, count);
      } else {
        transitive = transitive_bytes(objects.found, objects.groups, objects.bytes, count);
      }
    }
  });
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (!table.rows[row].is_reachable) continue;
    table.rows[row].sizes = snapshot::RowSizes{transitive[row], retained[row]};
  }
  table.has_sizes = true;
}

std::vector<std::uint64_t> retained_by_rows(const Snapshot& snapshot,
                                            CountBy by,
                                            std::span<const std::string_view> rows) {
  const Groups groups(snapshot, by, rows);
  return retained_of_groups(Numbered(snapshot, groups.of_type), rows.size() + 1);
}

std::uint64_t retained_by(const Snapshot& snapshot, const std::vector<bool>& is_chosen) {
  std::vector<TypeIndex> groups(is_chosen.size());
  std::transform(is_chosen.begin(), is_chosen.end(), groups.begin(),
                 [](bool chosen) { return chosen ? 0 : 1; });
  return retained_of_groups(Numbered(snapshot, groups), 2).front();
}

}  // namespace heapattach::analyze
