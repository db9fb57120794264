#include "symbols/heap/heap.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "attach/base/check.h"
#include "attach/base/page.h"
#include "symbols/heap/ranges.h"

namespace heapattach::heap {
namespace {

// The most empty chunks in a dense index. Their entries cost little: 4 KiB each.
constexpr std::uint64_t kMostEmptyChunks = 64;

}  // namespace

std::vector<Range> rest_of_contents(const BlockIndex& index, std::span<const Range> copied) {
  std::vector<Range> ranges;
  auto planned = copied.begin();
  for (const Block& block : index.blocks) {
    while (planned != copied.end() && planned->end() <= block.start) ++planned;
    const RemoteAddr end = block.start + block.objects * block.object_bytes;
    if (planned == copied.end() || planned->end() >= end) continue;
    ranges.push_back({planned->end(), end - planned->end()});
  }
  return ranges;
}

Heap::Heap(const BlockIndex& index,
           const Shape& shape,
           const Capture& capture,
           std::shared_ptr<const ScanRules> rules)
    : index_(&index),
      capture_(&capture),
      shape_(shape),
      all_interior_(shape.all_interior_pointers) {
  follow(std::move(rules));
  fill_records();
  fill_table();
}

void ScanRules::narrow(const Heap& heap, ObjectRef ref, ScannedWords& words) const {
  words.pattern = {heap.blocks()[ref.block].descriptor / 8, 0, {}};
}

bool ScanRules::looks_free(const Heap& /*heap*/, ObjectRef /*ref*/) const {
  return false;
}

bool ScanRules::may_use_dead(const Heap& /*heap*/, ObjectRef /*ref*/) const {
  return false;
}

void Heap::follow(std::shared_ptr<const ScanRules> rules) {
  constexpr std::size_t kTagBytes = 8;
  rules_ = std::move(rules);
  displacements_ = rules_->displacements.value_or(Displacements{});
  if (!rules_->displacements) std::fill_n(displacements_.begin(), kTagBytes, true);
}

namespace {

// The bytes from the start of an allocation on that count as its own, in whole granules.
std::uint64_t owned_bytes(const Block& chunk) {
  constexpr std::uint64_t kRest = kChunkGranule - 1;
  const std::uint64_t shared = (chunk.flags & kSharedEnd) != 0 ? 0 : kRest;
  return (chunk.object_bytes + shared) & ~kRest;
}

}  // namespace

void Heap::fill_records() {
  const std::span<const Block> all = blocks();
  HA_CHECK(all.size() < kShared);
  records_.assign(all.size(), {});
  copied_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Block& block = all[i];
    const bool is_chunk = shape_.is_chunk(block);
    Record& record = records_[i];
    record.start = block.start.value;
    record.first_slot = static_cast<std::uint32_t>(slots_);
    slots_ += block.objects;
    HA_CHECK(slots_ < kNone);
    if (block.objects > 1) {
      record.size_units = static_cast<std::uint16_t>(block.object_bytes / kUnitBytes);
      record.reciprocal =
          static_cast<std::uint32_t>(((std::uint64_t{1} << 32) - 1) / block.object_bytes + 1);
      record.extent = static_cast<std::uint32_t>(block.objects) * record.size_units;
    } else {
      const bool first_page_only = (block.flags & kFirstPageOnly) != 0 || !all_interior_;
      const std::uint64_t owned = is_chunk ? owned_bytes(block)
                                  : first_page_only
                                      ? shape_.block_bytes
                                      : std::max(block.object_bytes, shape_.block_bytes);
      record.extent =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(owned / kUnitBytes, 0xffffffff));
    }
    const auto copy = capture_->bytes_from(block.start);
    record.data = copy.data();
    copied_[i] = std::min<std::uint64_t>(copy.size(), shape_.extent_bytes(block));
    if (block.has_no_pointers()) continue;
    if (copied_[i] < block.objects * block.object_bytes) {
      ++unreadable_;
      if (block.objects > 1) continue;
    }
    // The collector's length leaves out the spare bytes at an object's end (headers.c).
    const std::uint64_t words = std::min(block.descriptor, block.object_bytes) / 8;
    const bool is_small = block.objects > 1 || is_chunk;
    const bool is_whole = is_small && (block.descriptor & kSpecialDescriptor) == 0 && words > 0 &&
                          words <= 256 && copied_[i] >= words * 8;
    if (is_whole && block.objects == 1) {
      record.size_units = static_cast<std::uint16_t>(block.object_bytes / kUnitBytes);
    }
    if (is_whole) record.last_word = static_cast<std::uint8_t>(words - 1);
    record.scan = is_whole ? Scan::Whole : Scan::Special;
  }
}

void Heap::fill_table() {
  const std::span<const Block> all = blocks();
  if (all.empty()) return;
  lowest_ = all.front().start.value;
  span_ = all.back().start.value + shape_.extent_bytes(all.back()) - lowest_;
  constexpr std::uint64_t kInPage = (std::uint64_t{1} << kPageShift) - 1;

  // The blocks are sorted, so their chunks come in order.
  std::vector<std::uint64_t> keys;
  for (const Block& block : all) {
    const std::uint64_t last = (block.start.value + shape_.extent_bytes(block) - 1) >> kChunkShift;
    std::uint64_t key = block.start.value >> kChunkShift;
    if (!keys.empty()) key = std::max(key, keys.back() + 1);
    for (; key <= last; ++key) keys.push_back(key);
  }
  first_key_ = keys.front();
  const std::uint64_t chunks = keys.back() - first_key_ + 1;
  is_dense_ = chunks <= kMostEmptyChunks + keys.size() * 2;
  if (is_dense_) {
    keys.resize(chunks);
    std::iota(keys.begin(), keys.end(), first_key_);
  }
  pages_.assign(keys.size() * kChunkPages, kNone);
  if (!is_dense_) fill_hash_table(keys);
  std::size_t chunk = 0;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    // A page belongs to the block that reaches its start. If others begin in it, it is shared.
    const std::uint64_t in_page = shape_.is_chunk(all[i]) ? kInPage : 0;
    const std::uint64_t first = all[i].start.value >> kPageShift;
    const std::uint64_t bytes = shape_.extent_bytes(all[i]) + (all[i].start.value & in_page);
    const std::uint64_t count = (bytes + in_page) >> kPageShift;
    for (std::uint64_t page = first; page < first + count; ++page) {
      while (keys[chunk] != page >> (kChunkShift - kPageShift)) ++chunk;
      std::uint32_t& entry = pages_[chunk * kChunkPages + page % kChunkPages];
      if (in_page != 0 && page == first) {
        share_page(entry, i);
      } else {
        entry = i;
      }
    }
  }
}

void Heap::fill_hash_table(std::span<const std::uint64_t> keys) {
  const std::size_t entries = std::bit_ceil(keys.size() * 4);
  table_.resize(entries);
  table_mask_ = entries - 1;
  hash_shift_ = 64 - static_cast<unsigned>(std::countr_zero(entries));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t at = (keys[i] * kHashFactor) >> hash_shift_;
    while (table_[at].pages != nullptr) at = (at + 1) & table_mask_;
    table_[at] = {keys[i], pages_.data() + i * kChunkPages};
  }
}

const std::uint32_t* Heap::find_pages(std::uint64_t key) const {
  std::uint64_t at = (key * kHashFactor) >> hash_shift_;
  while (table_[at].key != key && table_[at].pages != nullptr) at = (at + 1) & table_mask_;
  return table_[at].pages;
}

void Heap::share_page(std::uint32_t& entry, std::uint32_t block) {
  if (entry == kNone || entry < kShared) {
    entry = kShared + static_cast<std::uint32_t>(shared_.size());
    shared_.push_back({.first = block, .starts = {}});
  }
  const std::uint64_t granule = blocks()[block].start.value / kChunkGranule % 256;
  shared_[entry - kShared].starts[granule / 64] |= std::uint64_t{1} << (granule % 64);
}

std::optional<std::uint64_t> Heap::captured_word(RemoteAddr at) const {
  const auto bytes = capture_->bytes_from(at);
  if (bytes.size() < 8) return std::nullopt;
  return load_word(bytes.data());
}

void Heap::hide(std::vector<Range> words) {
  hidden_ = std::move(words);
  for (const Range& range : hidden_) {
    const std::uint32_t block = block_of(range.start.value);
    if (block == kNone) continue;
    Record& record = records_[block];
    if (record.scan == Scan::Whole) record.scan = Scan::Special;
  }
}

bool Heap::owns_from_stack(std::uint32_t block, std::uint64_t offset) const {
  const Block& of = blocks()[block];
  return rules_->finds_bases_from_stacks && !is_chunk(block) && of.objects == 1 &&
         offset < of.object_bytes;
}

ScannedWords Heap::scanned_words(ObjectRef ref) const {
  ScannedWords words;
  const auto bytes = contents(ref);
  words.data = bytes.data();
  words.address = address(ref);
  words.count = bytes.size() / 8;
  rules_->narrow(*this, ref, words);
  words.hidden = overlapping(hidden_, {words.address, words.count * 8});
  return words;
}

}  // namespace heapattach::heap
