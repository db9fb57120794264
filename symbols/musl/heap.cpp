#include "symbols/musl/heap.h"

#include <algorithm>

#include <fmt/format.h>

#include "symbols/musl/chunks.h"
#include "symbols/musl/groups.h"

namespace heapattach::musl {

namespace {

using glibc::Words;

void add_block(RemoteAddr at, std::uint64_t bytes, heap::BlockIndex& index) {
  heap::Block& block = index.blocks.emplace_back();
  block.start = at;
  block.object_bytes = std::max<std::uint64_t>(bytes, 1);
  block.descriptor = block.object_bytes & ~std::uint64_t{7};
  block.objects = 1;
  block.flags = heap::kChunk;
}

// Turns the slots of groups into blocks.
class Listing {
 public:
  Listing(const Words& words, const std::vector<Group>& groups, Heap& heap)
      : words_(words), groups_(groups), heap_(heap) {}

  void run() {
    while (next_ < groups_.size()) add_group();
  }

  // The number of slots that are in use, but do not belong to the program yet, or no longer do.
  std::uint64_t in_change = 0;
  std::uint64_t overwritten = 0;
  RemoteAddr first_overwritten;

 private:
  // Adds the next group, and those that are nested in it, in the order of addresses.
  void add_group() {
    const Group& group = groups_[next_++];
    Account& account = heap_.account;
    account.parts += 1;
    account.free += group.free_bytes();
    if (!group.is_nested) {
      account.heap += group.bytes;
      heap_.own.push_back({group.at, group.bytes});
    }
    for (unsigned slot = 0; slot < group.slots; ++slot) {
      const std::uint32_t bit = std::uint32_t{1} << slot;
      if ((group.nested & bit) != 0) {
        add_group();  // smaller than the slot, so this ends
      } else if ((group.in_use & bit) != 0) {
        add_slot(group, slot);
      }
    }
  }

  void add_slot(const Group& group, unsigned slot) {
    const auto found = read_slot(words_, group, slot);
    if (!found) {
      ++in_change;
      return;
    }
    if (found->is_overwritten && overwritten++ == 0) first_overwritten = found->at;
    add_block(found->at, found->bytes, heap_.index);
    if (!group.is_mapped || group.slots != 1) return;
    heap_.account.mapped += 1;
    heap_.account.mapped_bytes += group.bytes;
  }

  const Words& words_;
  const std::vector<Group>& groups_;
  Heap& heap_;
  std::size_t next_ = 0;
};

Heap read_groups(const Words& words, const std::vector<Context>& contexts, std::size_t threads) {
  Groups groups = walk_groups(words, contexts, threads);
  Heap heap;
  heap.problems = std::move(groups.problems);
  Listing listing(words, groups.all, heap);
  listing.run();
  // A thread changes at most one slot at a time, and frees no more.
  if (listing.in_change > threads) {
    heap.problems.push_back(
        fmt::format("{} slots in use contain no allocation", listing.in_change));
  }
  if (listing.overwritten > threads) {
    heap.problems.push_back(
        fmt::format("the ends of {} allocations were overwritten, the first at {:#x}",
                    listing.overwritten, listing.first_overwritten.value));
  }
  for (const Range& area : groups.areas) heap.account.heap += area.bytes;
  heap.own.insert(heap.own.end(), groups.areas.begin(), groups.areas.end());
  for (const Context& context : contexts) heap.own.push_back({context.at, Context::kBytes});
  return heap;
}

Heap read_chunks(const Words& words, RemoteAddr bins, const Places& places) {
  Chunks chunks = walk_chunks(words, bins, places.anonymous, places.module_data, places.threads);
  Heap heap;
  heap.problems = std::move(chunks.problems);
  heap.account.has_chunks = true;
  for (const Chunk& chunk : chunks.all) {
    if (chunk.state == ChunkState::Free) {
      heap.account.free += chunk.bytes;
      continue;
    }
    add_block(chunk.payload(), chunk.usable(), heap.index);
    heap.account.mapped += chunk.state == ChunkState::Mapped ? 1 : 0;
  }
  heap.account.parts = chunks.segments;
  heap.account.mapped_bytes = chunks.mapped_bytes;
  for (const Range& range : chunks.claimed) heap.account.heap += range.bytes;
  heap.own = std::move(chunks.claimed);
  heap.own.push_back({bins - 8, 8 + kBinsBytes});
  return heap;
}

Result<Heap> read_any(const Words& words, const Places& places) {
  const std::vector<Context> contexts = find_contexts(words, places.module_data);
  if (!contexts.empty()) return read_groups(words, contexts, places.threads);
  if (const auto bins = find_bins(words, places.module_data, places.threads)) {
    return read_chunks(words, *bins, places);
  }
  return Error{ErrorKind::Unsupported, "the process does not use musl's malloc"};
}

}  // namespace

Result<Heap> read_heap(const Capture& capture, const Places& places) {
  Heap heap = HA_TRY(read_any(Words(capture, places.touched), places));
  heap.index.free_bytes = heap.account.free;
  heap.index.used_bytes = heap.account.heap - std::min(heap.account.heap, heap.index.free_bytes);
  return heap;
}

bool has_heap(const MemoryReader& memory, std::span<const Range> module_data) {
  const Words words(memory);
  return !find_contexts(words, module_data).empty() || find_bins(words, module_data, 1);
}

}  // namespace heapattach::musl
