#include "symbols/boehm/blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "attach/arch/addresses.h"
#include "symbols/boehm/bounded_blocks.h"
#include "symbols/heap/blocks.h"
#include "symbols/heap/heap_memory.h"

// The index is read in three steps, each in large batches, because the target is stopped all the
// while:
//
//   1. the top index, an array of pointers to bottom indices;
//   2. the bottom indices, level by level along their hash chains (a chain is one or two long);
//   3. the headers. There is one for each block, about 330 bytes with its mark bytes, and the
//      collector allocates them one after the other from its own memory. Reading them one by one
//      would cost a page look-up in the kernel per header. So their addresses are sorted,
//      neighbours are joined into runs, and the runs are copied chunk by chunk into one buffer that
//      stays in the cache.
//
// All numbers come from the target. A bottom index or a header counts only if it is in mapped
// memory and agrees with the slot where it was found. The number of bottom indices and headers is
// bounded by the memory that could hold them. Blocks that overlap the next one, or would make the
// heap larger than kMostUsed, are dropped: a hostile program can claim terabytes at no cost.

namespace heapattach::boehm {
namespace {

// Limits the readers' table, which has four bytes for each 4 KiB of blocks.
constexpr std::uint64_t kMostUsed = std::uint64_t{256} << 30U;
constexpr std::size_t kNamedMisfits = 16;
constexpr std::size_t kSampledTails = 64;
constexpr std::uint64_t kJoinGapBytes = 4096;    // closer headers are copied in one run
constexpr std::uint64_t kChunkBytes = 1U << 20;  // copied at once

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

// The memory of a process that may hold a heap, as a few long ranges: in incremental mode every
// other page may be a mapping of its own.
class Readable {
 public:
  explicit Readable(const MemoryMap& map) {
    for (const Mapping& mapping : map.mappings()) {
      if (!heap::may_hold_heap(mapping)) continue;
      total_ += mapping.range.bytes;
      if (!ranges_.empty() && ranges_.back().end() == mapping.range.start) {
        ranges_.back().bytes += mapping.range.bytes;
      } else {
        ranges_.push_back(mapping.range);
      }
    }
  }

  [[nodiscard]] std::uint64_t total() const { return total_; }

  // How many bytes can be read from `at` on; 0 outside.
  [[nodiscard]] std::uint64_t bytes_from(RemoteAddr at) const {
    if (last_ < ranges_.size() && ranges_[last_].contains(at)) return ranges_[last_].end() - at;
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                                        [](RemoteAddr a, const Range& r) { return a < r.start; });
    if (after == ranges_.begin() || !std::prev(after)->contains(at)) return 0;
    last_ = static_cast<std::size_t>(std::prev(after) - ranges_.begin());
    return std::prev(after)->end() - at;
  }

 private:
  std::vector<Range> ranges_;
  std::uint64_t total_ = 0;
  mutable std::size_t last_ = 0;  // where the last query was answered: the next one is near
};

struct BottomIndex {
  std::uint64_t key = 0;
  std::vector<std::byte> bytes;
};

// A header that the index references, and the block that it must describe.
struct Candidate {
  RemoteAddr header;
  RemoteAddr block;
};

class IndexReader {
 public:
  IndexReader(const MemoryReader& memory,
              const MemoryMap& map,
              const Layout& layout,
              std::uint64_t in_use)
      : memory_(memory),
        layout_(layout),
        readable_(map),
        header_bytes_(header_bytes(layout)),
        most_bytes_(std::min(readable_.total(), in_use)) {}

  Result<heap::BlockIndex> read() {
    // No index was learned, because there is no heap yet.
    if (layout_.top_index.value == 0) return std::move(index_);
    HA_TRY(check_layout());
    std::vector<BottomIndex> bottoms = HA_TRY(read_bottoms());
    std::sort(bottoms.begin(), bottoms.end(),
              [](const BottomIndex& a, const BottomIndex& b) { return a.key < b.key; });
    const std::vector<Candidate> candidates = list_candidates(bottoms);
    bottoms.clear();
    HA_TRY(read_headers(candidates));
    drop_overlaps();
    compact();
    return std::move(index_);
  }

 private:
  // A layout is no more trustworthy than the memory: keeps shifts and sizes within what can be
  // computed with.
  [[nodiscard]] Result<void> check_layout() const {
    constexpr std::uint64_t kFarOffset = 1U << 16;
    const bool fits = layout_.block_shift >= 12 && layout_.block_shift <= 16 &&
                      layout_.top_shift > layout_.block_shift && layout_.top_shift < 40 &&
                      std::has_single_bit(layout_.top_mask + 1) && layout_.top_mask < (1U << 24) &&
                      layout_.bottom_mask + 1 == std::uint64_t{1}
                                                     << (layout_.top_shift - layout_.block_shift) &&
                      layout_.bottom_mask < (1U << 16) && layout_.bottom_key < (1U << 20) &&
                      layout_.bottom_next < (1U << 20) && layout_.header_block < kFarOffset &&
                      layout_.header_kind < kFarOffset && layout_.header_flags < kFarOffset &&
                      layout_.header_size < kFarOffset && layout_.header_descriptor < kFarOffset;
    if (fits) return {};
    return Error{ErrorKind::Malformed, "the collector's layout has impossible shifts or offsets"};
  }

  void add_misfit(RemoteAddr at, std::string what) {
    if (index_.misfits.size() < kNamedMisfits) index_.misfits.push_back({at, std::move(what)});
    ++index_.skipped;
  }

  Result<void> copy(RemoteAddr from, std::span<std::byte> into) const {
    const Copy one{from, into};
    static_cast<void>(HA_TRY(memory_.copy_all({&one, 1}, {})));
    return {};
  }

  [[nodiscard]] std::uint64_t bottom_bytes() const {
    std::uint64_t bytes = (layout_.bottom_mask + 1) * 8;
    if (layout_.has_hash_chain) {
      bytes = std::max({bytes, layout_.bottom_key + 8, layout_.bottom_next + 8});
    }
    return bytes;
  }

  // A bottom index to read, and the slot of the top index that references it.
  struct Pending {
    RemoteAddr at;
    std::uint64_t slot = 0;
  };

  Result<std::vector<BottomIndex>> read_bottoms() {
    std::vector<std::byte> top((layout_.top_mask + 1) * 8);
    auto got = memory_.read(layout_.top_index, top);
    if (!got) return std::move(got).error().context("reading the collector's top index");

    std::unordered_set<std::uint64_t> seen;
    std::vector<Pending> pending;
    for (std::uint64_t slot = 0; slot <= layout_.top_mask; ++slot) {
      enqueue({{word_at(top, slot * 8)}, slot}, seen, pending);
    }
    // The most blocks that fit in memory.
    const std::uint64_t most = most_bytes_ / bottom_bytes() + 1;
    std::vector<BottomIndex> bottoms;
    std::unordered_set<std::uint64_t> keys;
    while (!pending.empty()) {
      if (bottoms.size() + pending.size() > most) {
        add_misfit(pending.front().at, "more bottom indices than there is memory for");
        pending.resize(most - std::min<std::uint64_t>(most, bottoms.size()));
        if (pending.empty()) break;
      }
      const std::vector<Pending> batch = std::exchange(pending, {});
      std::vector<BottomIndex> fresh = HA_TRY(read_batch(batch));
      for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (!settle_key(batch[i], fresh[i], keys)) continue;
        if (layout_.has_hash_chain) {
          enqueue({{word_at(fresh[i].bytes, layout_.bottom_next)}, batch[i].slot}, seen, pending);
        }
        bottoms.push_back(std::move(fresh[i]));
      }
    }
    return bottoms;
  }

  void enqueue(Pending next,
               std::unordered_set<std::uint64_t>& seen,
               std::vector<Pending>& pending) {
    if (next.at.value == 0 || next.at == layout_.all_nils) return;
    if (!seen.insert(next.at.value).second) return;  // chains end in the shared one; cycles too
    if (next.at.value % 8 != 0 || readable_.bytes_from(next.at) < bottom_bytes()) {
      add_misfit(next.at, "a bottom index outside of the mapped memory");
      return;
    }
    pending.push_back(next);
  }

  Result<std::vector<BottomIndex>> read_batch(std::span<const Pending> batch) {
    std::vector<BottomIndex> fresh(batch.size());
    std::vector<Copy> copies;
    copies.reserve(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      fresh[i].bytes.resize(bottom_bytes());
      copies.push_back({batch[i].at, fresh[i].bytes});
    }
    static_cast<void>(HA_TRY(memory_.copy_all(copies, {})));
    return fresh;
  }

  // Reads the key, which must match the slot where the bottom index was found.
  bool settle_key(const Pending& from,
                  BottomIndex& bottom,
                  std::unordered_set<std::uint64_t>& keys) {
    bottom.key = layout_.has_hash_chain ? word_at(bottom.bytes, layout_.bottom_key) : from.slot;
    const bool fits = (bottom.key & layout_.top_mask) == from.slot &&
                      bottom.key < kUsualAddressEnd >> layout_.top_shift;
    if (!fits) {
      // The shared empty one has key 0, and is in most slots.
      const bool is_empty = std::all_of(
          bottom.bytes.begin(),
          bottom.bytes.begin() + static_cast<std::ptrdiff_t>((layout_.bottom_mask + 1) * 8),
          [](std::byte b) { return b == std::byte{0}; });
      if (!is_empty) add_misfit(from.at, "a bottom index whose key belongs to another slot");
      return false;
    }
    if (!keys.insert(bottom.key).second) {
      add_misfit(from.at, "a second bottom index for the same addresses");
      return false;
    }
    return true;
  }

  std::vector<Candidate> list_candidates(std::span<const BottomIndex> bottoms) {
    std::vector<Candidate> candidates;
    // Headers are disjoint: there cannot be more than fit in memory.
    const std::uint64_t most = most_bytes_ / header_bytes_ + 1;
    for (const BottomIndex& bottom : bottoms) {
      const RemoteAddr base{bottom.key << layout_.top_shift};
      for (std::uint64_t i = 0; i <= layout_.bottom_mask; ++i) {
        const std::uint64_t entry = word_at(bottom.bytes, i * 8);
        if (entry < layout_.block_bytes()) continue;  // nothing, or a count: the object continues
        const RemoteAddr block = base + (i << layout_.block_shift);
        if (entry % 8 != 0 || readable_.bytes_from({entry}) < header_bytes_) {
          add_misfit(block, fmt::format("its header, {:#x}, is not in mapped memory", entry));
        } else if (candidates.size() == most) {
          add_misfit(block, "more headers than there is memory for");
          return candidates;
        } else {
          candidates.push_back({{entry}, block});
        }
      }
    }
    return candidates;
  }

  [[nodiscard]] std::uint64_t tail_at() const { return layout_.header_descriptor + 8; }

  Result<void> read_headers(std::span<const Candidate> candidates) {
    struct Order {
      std::uint64_t header;
      std::uint32_t index;
    };
    std::vector<Order> order;
    order.reserve(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      order.push_back({candidates[i].header.value, static_cast<std::uint32_t>(i)});
    }
    const auto by_header = [](const Order& a, const Order& b) { return a.header < b.header; };
    if (!std::is_sorted(order.begin(), order.end(), by_header)) {
      std::sort(order.begin(), order.end(), by_header);
    }
    index_.blocks.resize(candidates.size());
    found_.resize(candidates.size());
    sample_step_ = candidates.size() / kSampledTails + 1;

    std::vector<std::byte> buffer;
    const std::uint64_t span = std::max(header_bytes_, tail_at() + heap::HeaderTail::kBytes);
    for (std::size_t i = 0; i < order.size();) {
      const RemoteAddr start{order[i].header};
      // Never past the mapping: bytes after a header there are not read.
      const std::uint64_t limit = readable_.bytes_from(start);
      std::uint64_t end = std::min(span, limit);
      std::size_t last = i + 1;
      for (; last < order.size(); ++last) {
        const std::uint64_t offset = order[last].header - start.value;
        if (offset > end + kJoinGapBytes || offset + header_bytes_ > limit ||
            offset > kChunkBytes) {
          break;
        }
        end = std::min(offset + span, limit);
      }
      if (buffer.size() < end) buffer.resize(end);
      index_.headers.push_back({start, end});
      const auto bytes = std::span(buffer).first(end);
      HA_TRY(copy(start, bytes));
      for (; i < last; ++i) {
        const std::uint64_t offset = order[i].header - start.value;
        take_header(candidates[order[i].index], order[i].index, bytes.subspan(offset));
      }
    }
    return {};
  }

  // The kind of block that a header describes. A byte each, so that parallel writes do not collide.
  enum class Found : std::uint8_t { Nothing, Used, Free };

  void take_header(const Candidate& candidate,
                   std::uint32_t at,
                   std::span<const std::byte> header) {
    heap::Block& block = index_.blocks[at];
    block.start = candidate.block;
    const Header read = read_header(layout_, header);
    block.object_bytes = read.object_bytes;
    block.descriptor = read.descriptor;
    block.kind = read.kind;
    // The collector has no flag with kChunk's value.
    block.flags = read.flags & static_cast<std::uint8_t>(~heap::kChunk);
    if (const auto misfit = find_misfit(block, read.block)) {
      add_misfit(candidate.block, *misfit);
      return;
    }
    if ((block.flags & kFreeBlock) != 0) {
      found_[at] = Found::Free;
      return;
    }
    found_[at] = Found::Used;
    const bool is_small = block.object_bytes <= layout_.block_bytes() / 2;
    block.objects =
        is_small ? static_cast<std::uint32_t>(layout_.block_bytes() / block.object_bytes) : 1;
    keep_tail(block, at, header);
  }

  [[nodiscard]] std::optional<std::string> find_misfit(const heap::Block& block,
                                                       RemoteAddr named) const {
    // headers.c and allchblk.c only install the header of a free block: its name is set on first
    // use.
    if (!layout_.word_headers && named != block.start && (block.flags & kFreeBlock) == 0) {
      return fmt::format("its header names {} as its block", named);
    }
    if (block.object_bytes == 0 || block.object_bytes % layout_.granule_bytes() != 0 ||
        block.object_bytes > kUsualAddressEnd - block.start.value) {
      return fmt::format("a size of {:#x} bytes", block.object_bytes);
    }
    if ((block.flags & kFreeBlock) != 0) {
      // Free memory may have been unmapped, so its location is not checked.
      if (block.object_bytes % layout_.block_bytes() == 0) return std::nullopt;
      return fmt::format("a free block of {:#x} bytes", block.object_bytes);
    }
    if (extent(block) > readable_.bytes_from(block.start)) {
      return fmt::format("{:#x} bytes that reach out of the mapped memory", block.object_bytes);
    }
    return std::nullopt;
  }

  void keep_tail(const heap::Block& block, std::uint32_t at, std::span<const std::byte> header) {
    const bool is_sampled = block.objects > 1 && at % sample_step_ == 0;
    if (!block.is_uncollectable() && !is_sampled) return;
    heap::HeaderTail& tail = index_.tails.emplace_back();
    tail.block = at;
    if (header.size() <= tail_at()) return;
    const auto rest = header.subspan(tail_at());
    std::copy_n(rest.begin(), std::min(rest.size(), tail.bytes.size()), tail.bytes.begin());
  }

  // Whole blocks.
  [[nodiscard]] std::uint64_t extent(const heap::Block& block) const {
    const std::uint64_t mask = layout_.block_bytes() - 1;
    return (block.object_bytes + mask) & ~mask;
  }

  // If two headers both fit but overlap, the earlier one claims too much: inside an object the
  // index holds counts, not headers.
  void drop_overlaps() {
    RemoteAddr next{kUsualAddressEnd};
    for (std::size_t i = index_.blocks.size(); i-- > 0;) {
      if (found_[i] == Found::Nothing) continue;
      const heap::Block& block = index_.blocks[i];
      if (extent(block) > next - block.start) {
        add_misfit(block.start, fmt::format("{:#x} bytes that reach into the block at {}",
                                            block.object_bytes, next));
        found_[i] = Found::Nothing;
        continue;
      }
      next = block.start;
      if (found_[i] == Found::Used && extent(block) > kMostUsed - index_.used_bytes) {
        add_misfit(block.start,
                   fmt::format("{:#x} bytes: the blocks would exceed 256 GiB", block.object_bytes));
        found_[i] = Found::Nothing;
        continue;
      }
      if (found_[i] == Found::Used) {
        index_.used_bytes += extent(block);
      } else {
        index_.free_bytes += block.object_bytes;
        if ((block.flags & kWasUnmapped) != 0) {
          index_.unmapped_bytes += block.object_bytes;
        } else {
          index_.free.push_back({block.start, block.object_bytes});
        }
      }
    }
    std::reverse(index_.free.begin(), index_.free.end());
  }

  // Closes the gaps that free blocks and misfits leave, also in the tails' indices.
  void compact() {
    std::sort(
        index_.tails.begin(), index_.tails.end(),
        [](const heap::HeaderTail& a, const heap::HeaderTail& b) { return a.block < b.block; });
    auto tail = index_.tails.begin();
    auto kept_tail = tail;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < index_.blocks.size(); ++i) {
      const bool has_tail = tail != index_.tails.end() && tail->block == i;
      if (found_[i] == Found::Used) {
        index_.blocks[kept] = index_.blocks[i];
        if (has_tail) {
          if (kept_tail != tail) *kept_tail = *tail;
          (kept_tail++)->block = kept;
        }
        ++kept;
      }
      if (has_tail) ++tail;
    }
    index_.blocks.resize(kept);
    index_.tails.erase(kept_tail, index_.tails.end());
  }

  const MemoryReader& memory_;
  const Layout& layout_;
  Readable readable_;
  std::uint64_t header_bytes_;
  std::uint64_t most_bytes_;  // limits the bytes of indices, and those of headers
  heap::BlockIndex index_;
  std::vector<Found> found_;  // parallel to index_.blocks, until compact()
  std::size_t sample_step_ = 1;
};

}  // namespace

Result<heap::BlockIndex> read_blocks(const MemoryReader& memory,
                                     const MemoryMap& map,
                                     const Layout& layout) {
  return read_bounded_blocks(memory, map, layout, ~std::uint64_t{0});
}

Result<heap::BlockIndex> read_bounded_blocks(const MemoryReader& memory,
                                             const MemoryMap& map,
                                             const Layout& layout,
                                             std::uint64_t in_use) {
  return IndexReader(memory, map, layout, in_use).read();
}

}  // namespace heapattach::boehm
