#include "report/analyze/leaks.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "report/text/human_bytes.h"
#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

using snapshot::Edge;
using snapshot::Object;
using snapshot::ObjectIndex;
using snapshot::Snapshot;
using snapshot::TypeIndex;

constexpr ObjectIndex kNone = ~ObjectIndex{0};

// Whether the object is leaked in an earlier snapshot, too.
bool is_leaked_in(const Snapshot& earlier, const Object& object, std::uint64_t bytes) {
  const auto& objects = earlier.objects;
  const auto found =
      std::lower_bound(objects.begin(), objects.end(), object.address,
                       [](const Object& one, std::uint64_t at) { return one.address < at; });
  return found != objects.end() && found->address == object.address && found->is_reachable == 0 &&
         earlier.bytes_of(*found) == bytes;
}

class LeakSearch {
 public:
  LeakSearch(const Snapshot& snapshot, const LeakOptions& options)
      : snapshot_(snapshot),
        with_members_(options.with_members),
        is_left_(snapshot.objects.size()) {
    for (ObjectIndex i = 0; i < snapshot.objects.size(); ++i) {
      const Object& object = snapshot.objects[i];
      if (snapshot.kind_of(object).is_collected) continue;
      ++found_.allocated;
      if (object.is_reachable != 0) continue;
      is_left_[i] = options.confirmed_by == nullptr ||
                    is_leaked_in(*options.confirmed_by, object, snapshot.bytes_of(object));
      if (is_left_[i]) {
        leaked_.push_back(i);
      } else {
        ++found_.unconfirmed_objects;
      }
    }
    is_ignored_.reserve(snapshot.types.size());
    for (const snapshot::Type& type : snapshot.types) {
      is_ignored_.push_back(
          std::any_of(options.ignored.begin(), options.ignored.end(),
                      [&](const std::string& glob) { return matches_type(glob, type.name); }));
    }
  }

  Leaks run() && {
    take_plain_roots();
    take_cycles();
    for (const auto& [key, row] : rows_) found_.rows.push_back(row);
    for (const auto& [type, sum] : types_) found_.types.push_back(sum);
    const auto more_bytes = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };
    std::stable_sort(found_.rows.begin(), found_.rows.end(), more_bytes);
    std::stable_sort(found_.types.begin(), found_.types.end(), more_bytes);
    return std::move(found_);
  }

 private:
  void take_plain_roots() {
    std::vector<bool> is_referenced(is_left_.size());
    for (const ObjectIndex from : leaked_) {
      for (const Edge& edge : snapshot_.edges_of(from)) {
        if (edge.to != from) is_referenced[edge.to] = true;
      }
    }
    for (const ObjectIndex object : leaked_) {
      if (!is_referenced[object]) take(object, false);
    }
  }

  // The remaining objects are in cycles, or are reached from one. They are taken in the reverse of
  // the order in which a depth-first search leaves them: the first one that is left is then always
  // in a cycle that no remaining object outside references.
  void take_cycles() {
    std::vector<ObjectIndex> left_in_order;
    std::vector<bool> is_seen(is_left_.size());
    for (const ObjectIndex start : leaked_) {
      if (is_left_[start] && !is_seen[start]) search(start, is_seen, left_in_order);
    }
    for (auto object = left_in_order.rbegin(); object != left_in_order.rend(); ++object) {
      if (is_left_[*object]) take(*object, true);
    }
  }

  void search(ObjectIndex start, std::vector<bool>& is_seen, std::vector<ObjectIndex>& left) const {
    std::vector<std::pair<ObjectIndex, std::size_t>> path{{start, 0}};  // each with its next edge
    is_seen[start] = true;
    while (!path.empty()) {
      auto& [object, next] = path.back();
      const auto edges = snapshot_.edges_of(object);
      ObjectIndex to = kNone;
      while (next < edges.size() && to == kNone) {
        const ObjectIndex candidate = edges[next++].to;
        if (is_left_[candidate] && !is_seen[candidate]) to = candidate;
      }
      if (to == kNone) {
        left.push_back(object);
        path.pop_back();
      } else {
        is_seen[to] = true;
        path.emplace_back(to, 0);
      }
    }
  }

  // Counts a root, and everything that it reaches and that no earlier root has reached.
  void take(ObjectIndex root, bool is_cycle) {
    const TypeIndex type = snapshot_.objects[root].type;
    const bool is_ignored = is_ignored_[type];
    LeakRow row{.type = type, .is_cycle = is_cycle, .leaks = 1, .example = root};
    std::vector<ObjectIndex> waiting{root};
    is_left_[root] = false;
    while (!waiting.empty()) {
      const ObjectIndex object = waiting.back();
      waiting.pop_back();
      row.objects += 1;
      row.bytes += snapshot_.bytes_of(snapshot_.objects[object]);
      if (!is_ignored) count(object);
      if (!is_ignored && with_members_) found_.members.push_back({object, root, is_cycle});
      for (const Edge& edge : snapshot_.edges_of(object)) {
        if (!is_left_[edge.to]) continue;
        is_left_[edge.to] = false;
        waiting.push_back(edge.to);
      }
    }
    if (is_ignored) {
      found_.ignored_objects += row.objects;
      found_.ignored_bytes += row.bytes;
    } else {
      add(row);
    }
  }

  void count(ObjectIndex index) {
    const Object& object = snapshot_.objects[index];
    LeakedType& type = types_[object.type];
    type.type = object.type;
    type.objects += 1;
    type.bytes += snapshot_.bytes_of(object);
  }

  void add(const LeakRow& leak) {
    found_.leaks += 1;
    found_.objects += leak.objects;
    found_.bytes += leak.bytes;
    const auto [at, is_new] = rows_.try_emplace({leak.type, leak.is_cycle}, leak);
    if (is_new) return;
    at->second.leaks += 1;
    at->second.objects += leak.objects;
    at->second.bytes += leak.bytes;
  }

  const Snapshot& snapshot_;
  bool with_members_;
  std::vector<bool> is_left_;        // leaked, and not counted yet
  std::vector<ObjectIndex> leaked_;  // by address
  std::vector<bool> is_ignored_;     // by type
  std::map<std::pair<TypeIndex, bool>, LeakRow> rows_;
  std::map<TypeIndex, LeakedType> types_;
  Leaks found_;
};

}  // namespace

std::vector<std::string> unsearched_places(const Snapshot& snapshot) {
  std::vector<std::string> places;
  for (const snapshot::Heap& heap : snapshot.heaps) {
    for (const heap::Fact& fact : heap.facts) {
      if (fact.key == heap::kRequestQueues) places.emplace_back("requests of io_uring");
      if (fact.key == heap::kAioContexts) places.emplace_back("requests of io_submit");
      if (fact.key == heap::kUnsearchedFiles) {
        places.push_back(
            fmt::format("what the kernel keeps for {}", counted(fact.number, "descriptor")));
      }
      if (fact.key != heap::kUnsearchedShared) continue;
      places.push_back(fmt::format("{} of shared memory", human_bytes(fact.number)));
    }
  }
  return places;
}

Leaks find_leaks(const Snapshot& snapshot, const LeakOptions& options) {
  return LeakSearch(snapshot, options).run();
}

}  // namespace heapattach::analyze
