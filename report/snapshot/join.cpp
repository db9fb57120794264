#include "report/snapshot/join.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "attach/check.h"
#include "report/snapshot/block_ranges.h"

namespace heapattach::snapshot {

namespace {

ObjectKind kind_of(const boehm::Block& block) {
  if (block.is_uncollectable()) return ObjectKind::Uncollectable;
  if (block.kind == boehm::kAtomic) return ObjectKind::Atomic;
  return block.kind == boehm::kNormal ? ObjectKind::Normal : ObjectKind::Custom;
}

// The size classes of the blocks, each once; by block which it is.
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

// What typed containers point to as their buffers. A container that is itself such a buffer has no
// say: its header is somebody's data.
class Buffers {
 public:
  Buffers(const boehm::Heap& heap,
          const ObjectOrder& order,
          const Naming& naming,
          const Snapshot& snapshot)
      : heap_(heap), order_(order), naming_(naming), snapshot_(snapshot) {}

  [[nodiscard]] boehm::ObjectSet find() const {
    const boehm::ObjectSet nothing(heap_);
    boehm::ObjectSet buffers = pointed_to_except(nothing);
    // Once more without the containers that turned out to be buffers. A false container that only
    // another false one refutes would need a third round; two of them in a row were never seen.
    return pointed_to_except(buffers);
  }

 private:
  [[nodiscard]] boehm::ObjectSet pointed_to_except(const boehm::ObjectSet& excepted) const {
    boehm::ObjectSet buffers(heap_);
    for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
      std::uint64_t index = order_.rank(heap_.number({first, 0}));
      boehm::for_each_object(heap_, order_.listed(), first, last, [&](boehm::ObjectRef ref) {
        const TypeIndex type = snapshot_.objects[index++].type;
        const auto pointers = naming_.buffer_pointers(type);
        if (pointers.empty() || excepted.contains(heap_.number(ref))) return;
        for (const crystal::BufferPointer& pointer : pointers) {
          const auto word = heap_.word_at(ref, pointer.offset);
          const auto buffer = word ? heap_.resolve(*word) : std::nullopt;
          if (!buffer) continue;
          if (!pointer.may_be_inside && heap_.address(*buffer).value != *word) continue;
          const std::uint64_t bytes = heap_.blocks()[buffer->block].object_bytes;
          if (pointer.only_if_array && !crystal::looks_like_array(heap_.contents(ref), bytes)) {
            continue;
          }
          buffers.insert_shared(heap_.number(*buffer));
        }
      });
    });
    return buffers;
  }

  const boehm::Heap& heap_;
  const ObjectOrder& order_;
  const Naming& naming_;
  const Snapshot& snapshot_;
};

void unname_buffers(const boehm::Heap& heap,
                    const ObjectOrder& order,
                    const Naming& naming,
                    Snapshot& snapshot) {
  const boehm::ObjectSet buffers = Buffers(heap, order, naming, snapshot).find();
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      Object& object = snapshot.objects[index++];
      if (buffers.contains(heap.number(ref)) && !naming.is_string(object.type)) {
        object.type = Naming::unknown_of(heap.blocks()[ref.block]);
      }
    });
  });
}

}  // namespace

ObjectOrder::ObjectOrder(const boehm::Heap& heap, const boehm::ObjectSet& listed)
    : heap_(heap), listed_(listed) {
  before_.reserve(listed.words().size());
  for (const std::uint64_t word : listed.words()) {
    before_.push_back(static_cast<std::uint32_t>(size_));
    size_ += static_cast<std::uint64_t>(std::popcount(word));
  }
  HA_CHECK(size_ <= ~ObjectIndex{0});
}

std::uint64_t ObjectOrder::rank(std::uint64_t number) const {
  if (number / 64 >= before_.size()) return size_;
  const std::uint64_t below = (std::uint64_t{1} << (number % 64)) - 1;
  return before_[number / 64] +
         static_cast<std::uint64_t>(std::popcount(listed_.words()[number / 64] & below));
}

std::optional<ObjectIndex> ObjectOrder::index_of(boehm::ObjectRef ref) const {
  const std::uint64_t number = heap_.number(ref);
  if (!listed_.contains(number)) return std::nullopt;
  return static_cast<ObjectIndex>(rank(number));
}

boehm::ObjectSet objects_in_use(const boehm::Heap& heap, const boehm::LiveSet& found) {
  boehm::ObjectSet in_use = found.live;
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t block = first; block < last; ++block) {
      for (std::uint32_t slot = 0; slot < heap.blocks()[block].objects; ++slot) {
        const boehm::ObjectRef ref{block, slot};
        if (boehm::liveness(heap, found.live, found.free, ref) == boehm::Liveness::Unreachable) {
          in_use.insert_shared(heap.number(ref));
        }
      }
    }
  });
  return in_use;
}

void join_objects(const boehm::Heap& heap,
                  const ObjectOrder& order,
                  const boehm::ObjectSet& live,
                  const Naming& naming,
                  Snapshot& snapshot) {
  const std::vector<std::uint32_t> class_of = size_classes(heap, snapshot.sizes);
  snapshot.types = naming.types();
  snapshot.objects.resize(order.size());
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      const boehm::Block& block = heap.blocks()[ref.block];
      // Written as a whole: who reads fresh memory before writing it pays for it twice.
      Object object;
      object.address = heap.address(ref).value & ((std::uint64_t{1} << 48) - 1);
      object.kind = static_cast<std::uint64_t>(kind_of(block)) & 3;
      object.is_reachable = live.contains(heap.number(ref)) ? 1 : 0;
      object.reserved = 0;
      object.type = naming.type_of(block, heap.contents(ref));
      object.size_class = class_of[ref.block];
      snapshot.objects[index++] = object;
    });
  });
  if (naming.has_buffer_pointers()) unname_buffers(heap, order, naming, snapshot);
}

void join_edges(const boehm::Heap& heap, const ObjectOrder& order, Snapshot& snapshot) {
  // Counted first and then written in place: the array is the largest of all, and a second copy of
  // it while it grows would double the memory that a snapshot takes.
  snapshot.first_edge.resize(order.size() + 1);
  const auto for_each_listed_edge = [&](boehm::ObjectRef ref, const auto& visit) {
    heap.for_each_edge(ref, [&](std::uint64_t offset_words, boehm::ObjectRef to) {
      if (const auto index = order.index_of(to)) visit(offset_words, *index);
    });
  };
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t index = order.rank(heap.number({first, 0}));
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      std::uint64_t count = 0;
      for_each_listed_edge(ref, [&](std::uint64_t, ObjectIndex) { ++count; });
      snapshot.first_edge[++index] = count;
    });
  });
  snapshot.first_edge[0] = 0;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    snapshot.first_edge[i + 1] += snapshot.first_edge[i];
  }
  snapshot.edges.resize(snapshot.first_edge.back());
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::uint64_t at = snapshot.first_edge[order.rank(heap.number({first, 0}))];
    boehm::for_each_object(heap, order.listed(), first, last, [&](boehm::ObjectRef ref) {
      for_each_listed_edge(ref, [&](std::uint64_t offset_words, ObjectIndex to) {
        snapshot.edges[at++] = {static_cast<std::uint32_t>(offset_words), to};
      });
    });
  });
}

}  // namespace heapattach::snapshot
