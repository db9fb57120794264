#include "report/collect/join.h"

#include <atomic>
#include <unordered_map>

#include <fmt/format.h>

#include "report/typing/block_ranges.h"
#include "report/typing/word_filter.h"

namespace heapattach::snapshot {

namespace {

ObjectKind kind_of(const boehm::Block& block) {
  if (block.is_uncollectable()) return ObjectKind::Uncollectable;
  if (block.kind == boehm::kAtomic) return ObjectKind::Atomic;
  return block.kind == boehm::kNormal ? ObjectKind::Normal : ObjectKind::Custom;
}

// The size classes of the blocks, each once, and the class of each block.
std::vector<std::uint32_t> size_classes(const boehm::Heap& heap,
                                        std::vector<std::uint64_t>& sizes) {
  std::unordered_map<std::uint64_t, std::uint32_t> classes;
  std::vector<std::uint32_t> of_block;
  of_block.reserve(heap.blocks().size());
  for (const boehm::Block& block : heap.blocks()) {
    const auto [it, is_new] =
        classes.try_emplace(block.object_bytes, static_cast<std::uint32_t>(sizes.size()));
    if (is_new) sizes.push_back(block.object_bytes);
    of_block.push_back(it->second);
  }
  return of_block;
}

// Which rows have objects; many threads may add to it at once.
class UsedRows {
 public:
  explicit UsedRows(std::size_t rows) : used_(rows) {}
  void add(TypeIndex row) {
    const std::atomic_ref<std::uint8_t> used(used_[row]);
    if (used.load(std::memory_order_relaxed) == 0) used.store(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool contains(TypeIndex row) const { return used_[row] != 0; }

 private:
  std::vector<std::uint8_t> used_;
};

void take_types(const TypeRows& rows, const UsedRows& used, std::vector<Type>& types) {
  types.reserve(rows.types().size());
  for (TypeIndex row = 0; row < rows.types().size(); ++row) {
    const Type& type = rows.types()[row];
    const bool is_taken = type.typed_by != TypedBy::Referrer || used.contains(row);
    types.push_back(is_taken ? type : Type{});
  }
}

}  // namespace

void join_objects(const JoinSources& from, const boehm::ObjectSet& live, Snapshot& snapshot) {
  const boehm::Heap& heap = from.heap;
  const ObjectOrder& order = from.order;
  const std::vector<std::uint32_t> class_of = size_classes(heap, snapshot.sizes);
  UsedRows used(from.rows.types().size());
  snapshot.objects.resize(order.size());
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      const boehm::Block& block = heap.blocks()[ref.block];
      // Written as a whole: reading fresh memory before writing it costs twice.
      Object object{};
      object.address = heap.address(ref).value & ((std::uint64_t{1} << 48) - 1);
      object.kind = static_cast<std::uint64_t>(kind_of(block)) & 3;
      object.is_reachable = live.contains(heap.number(ref)) ? 1 : 0;
      object.reserved = 0;
      object.type = from.typing.row_of(ref);
      object.size_class = class_of[ref.block];
      snapshot.objects[index++] = object;
      used.add(object.type);
    });
  });
  take_types(from.rows, used, snapshot.types);
}

void join_edges(const JoinSources& from, Snapshot& snapshot) {
  const boehm::Heap& heap = from.heap;
  const ObjectOrder& order = from.order;
  // Counted first and then filled in: the array is the largest of all, and a second copy of it
  // while it grows would double the memory that a snapshot takes.
  snapshot.first_edge.resize(order.size() + 1);
  const auto for_each_listed_edge = [&](boehm::ObjectRef ref, TypeIndex row, const auto& visit) {
    const RowLayout& layout = from.rows.layout(row);
    if (!layout.may_point()) return;
    WordFilter filter(layout, heap.blocks()[ref.block].object_bytes);
    heap.for_each_edge(ref, [&](std::uint64_t offset_words, boehm::ObjectRef to) {
      if (!filter.admits(offset_words * 8)) return;
      if (order.listed().contains(heap.number(to))) visit(offset_words, to);
    });
  };
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      std::uint64_t count = 0;
      const TypeIndex row = snapshot.objects[index].type;
      for_each_listed_edge(ref, row, [&](std::uint64_t, boehm::ObjectRef) { ++count; });
      snapshot.first_edge[++index] = count;
    });
  });
  snapshot.first_edge[0] = 0;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    snapshot.first_edge[i + 1] += snapshot.first_edge[i];
  }
  snapshot.edges.resize(snapshot.first_edge.back());
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    std::uint64_t at = snapshot.first_edge[index];
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      const TypeIndex row = snapshot.objects[index++].type;
      for_each_listed_edge(ref, row, [&](std::uint64_t offset_words, boehm::ObjectRef to) {
        snapshot.edges[at++] = {static_cast<std::uint32_t>(offset_words),
                                order.index_of_listed(to)};
      });
    });
  });
}

void name_by_size(Snapshot& snapshot) {
  const auto first = static_cast<TypeIndex>(snapshot.types.size());
  std::vector<bool> used(snapshot.sizes.size());
  for (Object& object : snapshot.objects) {
    if (!Naming::is_unknown(object.type)) continue;
    object.type = first + object.size_class;
    used[object.size_class] = true;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    Type& type = snapshot.types.emplace_back();
    if (used[i]) type.name = fmt::format("({} bytes)", snapshot.sizes[i]);
  }
}

}  // namespace heapattach::snapshot
