#include "report/collect/join.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>
#include <optional>

#include "attach/base/team.h"
#include "report/collect/object_facts.h"
#include "report/parallel.h"
#include "report/type_names.h"
#include "report/typing/block_ranges.h"
#include "report/typing/word_filter.h"

namespace heapattach::snapshot {

namespace {

ObjectKind kind_of(const heap::Block& block) {
  if (block.is_uncollectable()) return ObjectKind::Uncollectable;
  if (block.kind == heap::kAtomic) return ObjectKind::Atomic;
  return block.kind == heap::kNormal ? ObjectKind::Normal : ObjectKind::Custom;
}

// Fills in the edges. Groups of blocks are searched on all cores, each once, and their edges are
// added in order. To search twice, first to count the edges, takes longer. To gather all edges
// before their number is known takes twice the memory, because edges are the largest array.
class EdgeSearch {
 public:
  EdgeSearch(const JoinSources& from, Snapshot& snapshot, bool of_unreachable)
      : from_(from),
        snapshot_(snapshot),
        of_unreachable_(of_unreachable),
        blocks_(from.heap.blocks().size()) {
    snapshot.first_edge.resize(from.order.size() + 1);
    snapshot.first_edge[0] = 0;
  }

  void run() {
    reserve();
    run_team(workers_for(groups()),
             {.begin = {}, .work = [this](unsigned) { work(); }, .abandon = [this] { abandon(); }});
  }

 private:
  [[nodiscard]] std::size_t groups() const {
    return (blocks_ + kBlocksAtATime - 1) / kBlocksAtATime;
  }

  // Reserves address space for one edge per word, so that the array hardly ever moves. Only
  // existing edges take memory. If there is less address space, the array grows later
  // (make_room()).
  void reserve() {
    std::uint64_t words = 0;
    // With malloc's heap, objects that the collector does not scan may have edges into that heap.
    const bool is_any_scanned = from_.heap.shape().shares_pages;
    for (std::uint32_t i = 0; i < blocks_; ++i) {
      const heap::Block& block = from_.heap.blocks()[i];
      const bool is_scanned =
          is_any_scanned || from_.heap.record(i).scan != heap::Heap::Scan::Nothing;
      if (is_scanned) words += block.objects * block.object_bytes / 8;
    }
    try {
      snapshot_.edges.reserve(words);
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  void work() {
    std::vector<Edge> found;
    for (std::size_t group = next_++; group < groups(); group = next_++) {
      const auto first = static_cast<std::uint32_t>(group * kBlocksAtATime);
      const auto last =
          static_cast<std::uint32_t>(std::min<std::size_t>(first + kBlocksAtATime, blocks_));
      const std::uint64_t from = from_.order.rank(from_.heap.number({first, 0}));
      found.clear();
      const std::uint64_t to = search(first, last, from, found);
      const auto at = make_room(group, found.size());
      if (!at) return;
      std::copy(found.begin(), found.end(), snapshot_.edges.begin() + *at);
      end_copy();
      for (std::uint64_t i = from; i < to; ++i) {
        snapshot_.first_edge[i + 1] += static_cast<std::uint64_t>(*at);
      }
    }
  }

  // Finds the edges of the objects from `index` on. Sets the ends of their edges within the group,
  // and returns the index after the last object.
  std::uint64_t search(std::uint32_t first,
                       std::uint32_t last,
                       std::uint64_t index,
                       std::vector<Edge>& found) {
    const heap::Heap& heap = from_.heap;
    const ObjectOrder& order = from_.order;
    heap::for_each_object(heap, order.listed(), first, last, [&](heap::ObjectRef ref) {
      const Object& object = snapshot_.objects[index];
      const RowLayout& layout = from_.rows.layout(object.type);
      const bool is_wanted = !of_unreachable_ || object.is_reachable == 0;
      if (is_wanted && layout.may_point()) {
        WordFilter filter(layout, heap.blocks()[ref.block].object_bytes);
        heap.for_each_edge(ref, [&](std::uint64_t offset_words, heap::ObjectRef to) {
          if (!filter.admits(offset_words * 8)) return;
          if (!order.listed().contains(heap.number(to))) return;
          found.push_back({static_cast<std::uint32_t>(offset_words), order.index_of_listed(to)});
        });
      }
      snapshot_.first_edge[++index] = found.size();
    });
    return index;
  }

  // Waits for all earlier groups, and returns the place for this group's edges; nothing if another
  // worker has failed.
  std::optional<std::ptrdiff_t> make_room(std::size_t group, std::size_t count) {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [&] { return turn_ == group || is_abandoned_; });
    const std::size_t at = snapshot_.edges.size();
    // Arrays whose elements overlap may have more edges than words. The array then moves, when no
    // worker writes to it.
    if (at + count > snapshot_.edges.capacity()) {
      turn_changed_.wait(lock, [&] { return copying_ == 0 || is_abandoned_; });
    }
    if (is_abandoned_) return std::nullopt;
    snapshot_.edges.resize(at + count);
    ++copying_;
    ++turn_;
    turn_changed_.notify_all();
    return static_cast<std::ptrdiff_t>(at);
  }

  void end_copy() {
    const std::lock_guard lock(mutex_);
    --copying_;
    turn_changed_.notify_all();
  }

  void abandon() {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    turn_changed_.notify_all();
  }

  const JoinSources& from_;
  Snapshot& snapshot_;
  bool of_unreachable_;
  std::size_t blocks_;
  std::atomic<std::size_t> next_ = 0;  // the next group to search
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::size_t turn_ = 0;  // the next group to add
  int copying_ = 0;       // workers that write to the array
  bool is_abandoned_ = false;
};

}  // namespace

void join_objects(const JoinSources& from, const heap::ObjectSet& live, Snapshot& snapshot) {
  const heap::Heap& heap = from.heap;
  const ObjectOrder& order = from.order;
  const ObjectFacts facts(from, live, snapshot);
  UsedRows used(from.rows.types().size());
  snapshot.objects.resize(order.size());
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    heap::for_each_object(heap, order.listed(), first, last, [&](heap::ObjectRef ref) {
      // Write the object as a whole: reading fresh memory before writing to it would cost a second
      // page fault.
      Object object = facts.of(ref);
      object.address = heap.address(ref).value & ((std::uint64_t{1} << 48) - 1);
      object.kind = static_cast<std::uint64_t>(kind_of(heap.blocks()[ref.block])) & 3;
      snapshot.objects[index++] = object;
      used.add(object.type);
    });
  });
  snapshot.types = used.types(from.rows);
}

void join_edges(const JoinSources& from, Snapshot& snapshot, bool of_unreachable) {
  EdgeSearch(from, snapshot, of_unreachable).run();
}

void join_leaked(const heap::Heap& heap,
                 const heap::ObjectSet& in_use,
                 const heap::ObjectSet& live,
                 Snapshot& snapshot) {
  for (Heap& one : snapshot.heaps) {
    if (!one.kind().is_collected) one.leaked_bytes = 0;
  }
  const auto blocks = static_cast<std::uint32_t>(heap.blocks().size());
  heap::for_each_object(heap, in_use, 0, blocks, [&](heap::ObjectRef ref) {
    const heap::Block& block = heap.blocks()[ref.block];
    std::optional<std::uint64_t>& leaked = snapshot.heaps[block.heap & 15].leaked_bytes;
    if (leaked && !live.contains(heap.number(ref))) *leaked += block.object_bytes;
  });
}

void name_by_size(const std::map<std::uint64_t, std::string>& guesses, Snapshot& snapshot) {
  std::vector<bool> is_named;
  for (const Heap& heap : snapshot.heaps) is_named.push_back(heap.kind().is_named_by_size);
  if (std::find(is_named.begin(), is_named.end(), true) == is_named.end()) return;
  const auto first = static_cast<TypeIndex>(snapshot.types.size());
  std::vector<bool> used(snapshot.sizes.size());
  const auto name = [&](Object& object) {
    if (!Naming::is_unknown(object.type) || !is_named[object.heap]) return;
    object.type = first + object.size_class;
    used[object.size_class] = true;
  };
  for (Object& object : snapshot.objects) name(object);
  for (Alike& group : snapshot.alike) name(group.object);
  for (std::size_t i = 0; i < used.size(); ++i) {
    Type& type = snapshot.types.emplace_back();
    if (!used[i]) continue;
    type.name = named_by_size(snapshot.sizes[i]);
    const auto guess = guesses.find(snapshot.sizes[i]);
    if (guess != guesses.end()) type.guess = guess->second;
  }
}

}  // namespace heapattach::snapshot
