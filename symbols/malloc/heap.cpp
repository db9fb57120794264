#include "symbols/malloc/heap.h"

#include <algorithm>

#include <fmt/format.h>

#include "attach/base/huge_pages.h"
#include "attach/base/page.h"

namespace heapattach::glibc {

namespace {

// The whole pages in a free chunk, in bytes. malloc_trim() leaves the words at the chunk's start,
// with which malloc links it to others.
std::uint64_t free_pages_in(const Chunk& chunk) {
  constexpr std::uint64_t kLinkBytes = 48;
  const std::uint64_t page = page_bytes();
  const std::uint64_t first = (chunk.at.value + kLinkBytes + page - 1) / page * page;
  const std::uint64_t end = (chunk.at.value + chunk.bytes) / page * page;
  return end - std::min(end, first);
}

void count(const Chunk& chunk, Account& account) {
  if (chunk.state == ChunkState::Mapped) return;
  ArenaAccount& arena = account.arenas[chunk.arena];
  switch (chunk.state) {
    case ChunkState::InUse:
    case ChunkState::Cache:
      arena.in_use += chunk.bytes;
      arena.chunks_in_use += 1;
      break;
    case ChunkState::Free:
      arena.free += chunk.bytes;
      arena.free_pages += free_pages_in(chunk);
      arena.chunks_free += 1;
      break;
    case ChunkState::Fast:
      arena.fast += chunk.bytes;
      arena.chunks_fast += 1;
      break;
    case ChunkState::Cached: arena.cached += chunk.bytes; break;
    case ChunkState::Top: arena.top += chunk.bytes; break;
    case ChunkState::Mapped:
    case ChunkState::Fence: break;
  }
}

Account account_for(const Arenas& arenas, const Walked& walked) {
  Account account;
  for (std::size_t i = 0; i < arenas.all.size(); ++i) {
    account.arenas.push_back(
        {.at = arenas.all[i].at, .system = arenas.all[i].system_mem, .walked = walked.bytes[i]});
  }
  for (const Chunk& chunk : walked.chunks) count(chunk, account);
  if (arenas.parameters) {
    account.counted_mapped_chunks = arenas.parameters->mapped_chunks;
    account.counted_mapped_bytes = arenas.parameters->mapped_bytes;
  }
  return account;
}

// The mapping of a chunk from memalign begins before the chunk.
Range mapping_of(const Words& words, const Chunk& chunk) {
  const std::uint64_t before = words.at_or_zero(chunk.at) & ~15U;
  return {chunk.at - before, before + chunk.bytes + chunk.behind};
}

// Data of the program may look like one mapped chunk more than malloc has, for instance in the heap
// of a virtual machine. Removes it if its size alone explains the difference to malloc's account.
void drop_lookalike(const Words& words, const Account& account, Walked& walked) {
  if (account.counts_drift || account.mapped_chunks != account.counted_mapped_chunks + 1) return;
  const std::uint64_t excess = account.mapped_bytes - account.counted_mapped_bytes;
  const auto is_alike = [&](const Chunk& chunk) {
    return chunk.state == ChunkState::Mapped && mapping_of(words, chunk).bytes == excess;
  };
  auto& chunks = walked.chunks;
  if (std::count_if(chunks.begin(), chunks.end(), is_alike) != 1) return;
  const auto found = std::find_if(chunks.begin(), chunks.end(), is_alike);
  std::erase(walked.claimed, mapping_of(words, *found));
  chunks.erase(found);
}

void count_mapped(const Words& words, const Walked& walked, Account& account) {
  account.mapped_chunks = 0;
  account.mapped_bytes = 0;
  for (const Chunk& chunk : walked.chunks) {
    if (chunk.state != ChunkState::Mapped) continue;
    account.mapped_chunks += 1;
    account.mapped_bytes += mapping_of(words, chunk).bytes;
    account.counts_drift = account.counts_drift || chunk.behind != 0;
  }
}

void check(const Account& account, std::vector<std::string>& problems) {
  for (const ArenaAccount& arena : account.arenas) {
    if (arena.walked == arena.system) continue;
    problems.push_back(fmt::format("malloc counts {} bytes in arena {:#x}, and {} were found",
                                   arena.system, arena.at.value, arena.walked));
  }
  const std::uint64_t difference = account.mapped_bytes - account.counted_mapped_bytes;
  const bool is_drift = account.counts_drift && difference % 16 == 0;
  if (account.mapped_chunks != account.counted_mapped_chunks || (difference != 0 && !is_drift)) {
    problems.push_back(fmt::format(
        "of mapped chunks, malloc counts {} with {} bytes, and {} with {} bytes were found",
        account.counted_mapped_chunks, account.counted_mapped_bytes, account.mapped_chunks,
        account.mapped_bytes));
  }
}

bool is_in_use(const Chunk& chunk) {
  return chunk.state == ChunkState::InUse || chunk.state == ChunkState::Mapped;
}

void list_blocks(const Walked& walked, const Account& account, heap::BlockIndex& index) {
  const auto count = std::count_if(walked.chunks.begin(), walked.chunks.end(), is_in_use);
  index.blocks.reserve(static_cast<std::size_t>(count));
  prefer_huge_pages(index.blocks.data(), index.blocks.capacity() * sizeof(heap::Block));
  for (const Chunk& chunk : walked.chunks) {
    if (!is_in_use(chunk)) continue;
    heap::Block block;
    block.start = chunk.payload();
    block.object_bytes = chunk.usable();
    block.descriptor = block.object_bytes;
    block.objects = 1;
    // The last word of a chunk is at the address of the next chunk's header. malloc's own data
    // contain such addresses, so they count as references to neither chunk.
    block.flags = heap::kChunk | heap::kSharedEnd;
    index.blocks.push_back(block);
  }
  index.free_bytes = account.free_bytes();
  index.used_bytes = account.heap_bytes() - std::min(account.heap_bytes(), index.free_bytes);
}

Error no_heap() {
  return Error{ErrorKind::Unsupported, "the process does not use glibc's malloc"};
}

}  // namespace

std::uint64_t Account::sum(std::uint64_t ArenaAccount::*part) const {
  std::uint64_t total = 0;
  for (const ArenaAccount& arena : arenas) total += arena.*part;
  return total;
}

std::uint64_t Account::heap_bytes() const {
  return sum(&ArenaAccount::system) + mapped_bytes;
}

std::uint64_t Account::free_bytes() const {
  return sum(&ArenaAccount::free) + sum(&ArenaAccount::fast) + sum(&ArenaAccount::cached) +
         sum(&ArenaAccount::top);
}

Result<Heap> read_heap(const Capture& capture, const Places& places) {
  const Words words(capture, places.touched);
  const auto arenas = find_arenas(words, places.module_data);
  if (!arenas) return no_heap();
  const std::vector<Range> anonymous(places.anonymous.begin(), places.anonymous.end());
  Walked walked = walk_arenas(words, *arenas, anonymous, places.foreign);
  if (arenas->parameters && arenas->parameters->mapped_chunks > 0) {
    add_mapped(words, anonymous, walked);
  }
  Heap heap;
  heap.caches = mark_caches(words, *arenas, places.thread_pointers, walked.chunks);
  heap.account = account_for(*arenas, walked);
  count_mapped(words, walked, heap.account);
  drop_lookalike(words, heap.account, walked);
  count_mapped(words, walked, heap.account);
  heap.problems = std::move(walked.problems);
  if (!arenas->parameters) {
    heap.problems.emplace_back("malloc's parameters were not found, so mapped chunks are missing");
  }
  if (heap.caches.is_list_broken) heap.problems.emplace_back("a fast bin of malloc is broken");
  if (heap.caches.is_cache_broken) {
    heap.problems.emplace_back("a thread's cache of freed chunks is broken");
  }
  if (arenas->others > 0) {
    heap.unread.push_back(
        arenas->others == 1 ? std::string("another heap of the C library was not read (dlmopen)")
                            : fmt::format("{} other heaps of the C library were not read (dlmopen)",
                                          arenas->others));
  }
  check(heap.account, heap.problems);
  list_blocks(walked, heap.account, heap.index);
  heap.claimed = std::move(walked.claimed);
  heap.states.push_back({arenas->all.front().at, arenas->layout.bytes()});
  return heap;
}

Result<void> check_heap(const MemoryReader& memory, std::span<const Range> module_data) {
  if (!find_arenas(Words(memory), module_data)) return no_heap();
  return {};
}

}  // namespace heapattach::glibc
