// Counts objects. Each worker counts into a table of its own. The objects of a block often
// alternate between a few types, so the latest groups of alike objects are found without a search.

#include <array>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "report/collect/join.h"
#include "report/collect/object_facts.h"
#include "report/typing/block_ranges.h"

namespace heapattach::snapshot {

namespace {

class Tally {
 public:
  void add(const Object& object, std::uint64_t count = 1) {
    const std::uint64_t key = std::uint64_t{object.type} << 32 |
                              std::uint64_t{object.size_class} << 5 |
                              std::uint64_t{object.heap} << 1 | object.is_reachable;
    Recent& recent = recent_[(key ^ key >> 32) % recent_.size()];
    if (recent.group == nullptr || recent.key != key) {
      recent = {key, &groups_.try_emplace(key, Alike{object, 0}).first->second};
    }
    recent.group->count += count;
  }

  void add(const Tally& other) {
    for (const auto& entry : other.groups_) add(entry.second.object, entry.second.count);
  }

  [[nodiscard]] std::vector<Alike> groups() const {
    std::vector<Alike> all;
    all.reserve(groups_.size());
    for (const auto& entry : groups_) all.push_back(entry.second);
    return all;
  }

 private:
  struct Recent {
    std::uint64_t key = 0;
    Alike* group = nullptr;  // in groups_, whose values do not move
  };
  std::array<Recent, 64> recent_{};
  std::unordered_map<std::uint64_t, Alike> groups_;
};

}  // namespace

void join_counts(const JoinSources& from, const heap::ObjectSet& live, Snapshot& snapshot) {
  const ObjectFacts facts(from, live, snapshot);
  const unsigned workers = workers_for_blocks(from.heap);
  std::vector<Tally> tallies(workers);
  for_block_ranges(
      from.heap, workers, [&](unsigned worker, std::uint32_t first, std::uint32_t last) {
        heap::for_each_object(from.heap, from.order.listed(), first, last,
                              [&](heap::ObjectRef ref) { tallies[worker].add(facts.of(ref)); });
      });
  for (unsigned worker = 1; worker < workers; ++worker) tallies.front().add(tallies[worker]);
  snapshot.alike = tallies.front().groups();
  UsedRows used(from.rows.types().size());
  for (const Alike& group : snapshot.alike) used.add(group.object.type);
  snapshot.types = used.types(from.rows);
}

}  // namespace heapattach::snapshot
