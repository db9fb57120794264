#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attach/base/count_ones.h"
#include "attach/base/flat_array.h"
#include "attach/memory/capture.h"
#include "attach/process/memory_map.h"
#include "symbols/heap/blocks.h"
#include "symbols/heap/scanned_words.h"

namespace heapattach::heap {

// Identifies an object, or a free slot for one, by its block and its slot in the block.
struct ObjectRef {
  std::uint32_t block = 0;  // index into Heap::blocks()
  std::uint32_t slot = 0;

  friend auto operator<=>(ObjectRef, ObjectRef) = default;
};

class Heap;

// If not all interior pointers are recognised: the displacements from the start of an object at
// which a pointer counts, up to the size of a page.
using Displacements = std::array<bool, 4096>;

// The owner's rules for references that a heap's blocks do not show. This base class is for memory
// without an owner that marks: every descriptor is a number of bytes.
struct ScanRules {
  ScanRules() = default;
  ScanRules(const ScanRules&) = default;
  ScanRules& operator=(const ScanRules&) = default;
  ScanRules(ScanRules&&) = default;
  ScanRules& operator=(ScanRules&&) = default;
  virtual ~ScanRules() = default;

  // Narrows `words`, the whole object, to those that its block's descriptor selects.
  virtual void narrow(const Heap& heap, ObjectRef ref, ScannedWords& words) const;
  // Whether the owner may still use the words of an object that is not alive.
  [[nodiscard]] virtual bool may_use_dead(const Heap& heap, ObjectRef ref) const;
  // Whether a slot that is on no free list, and that tracing did not reach, looks free.
  [[nodiscard]] virtual bool looks_free(const Heap& heap, ObjectRef ref) const;

  // If interior pointers are not recognised: the displacements at which a word of the heap or of
  // static data counts. None if unknown.
  std::optional<Displacements> displacements;
  // A word on a stack counts wherever in an object it points, even past the first page of an object
  // that ignores such pointers, because the collector looks up the object's start first.
  bool finds_bases_from_stacks = false;
};

// The blocks of a heap, with a copy of their contents. Finds the object that contains an address in
// a few instructions, by the collector's own rules (GC_mark_from and its macros in mark.c and
// private/gc_pmark.h, 8.2.2), which suit every other heap:
//   - an address in a small block belongs to the object around it, whatever the offset, if interior
//     pointers are recognised; the bytes after the block's last whole object belong to none;
//   - a large object owns all of its first page, including any bytes after its end, and its later
//     pages up to its end; with kFirstPageOnly only its first page;
//   - without interior pointers only an object's first byte counts, except on stacks and in
//     registers, and the displacements that the program registered. If these are unknown, those of
//     ecl and guile are used: tags in the low bits of a word.
//
// The index has an entry for each 4 KiB, which points to a 32-byte record of the block. The record
// has everything that marking needs, so a pointer costs at most two cache misses before the object.
// The entries are one array by address. If that array would be mostly empty, because parts of the
// heap lie far apart, a small hash table finds 1024 entries by address >> 22, as the collector's
// does.
//
// If blocks share pages (Shape::shares_pages), an entry may instead point to a map of the granules
// of its page at which blocks begin.
//
// A heap may hold both a collector's blocks and allocations of malloc. The collector scans its
// objects as before. Their other words are edges, too, if they point to an allocation, because a
// program may keep malloc's addresses in memory that the collector does not scan.
//
// Borrows the index's blocks and the capture; both must outlive it and not move.
class Heap {
 public:
  // The place where a word was found. The rules differ only if interior pointers are not
  // recognised.
  enum class From : std::uint8_t { Heap, Stack };

  Heap(const BlockIndex& index,
       const Shape& shape,
       const Capture& capture,
       std::shared_ptr<const ScanRules> rules = std::make_shared<const ScanRules>());

  [[nodiscard]] std::span<const Block> blocks() const { return index_->blocks; }
  [[nodiscard]] const BlockIndex& index() const { return *index_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }

  // The number of slots for objects, in use or not. Slots are numbered from 0 in address order.
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  [[nodiscard]] std::uint64_t number(ObjectRef ref) const {
    return records_[ref.block].first_slot + ref.slot;
  }
  [[nodiscard]] RemoteAddr address(ObjectRef ref) const {
    return index_->blocks[ref.block].object(ref.slot);
  }

  // The object that `word` would point into if it were a pointer, whether that object is in use or
  // not.
  [[nodiscard]] std::optional<ObjectRef> resolve(std::uint64_t word, From from = From::Heap) const {
    const std::uint32_t block = block_of(word);
    if (block == kNone) return std::nullopt;
    const Record& record = records_[block];
    const std::uint64_t offset = word - record.start;
    if (offset / kUnitBytes >= record.extent &&
        (from == From::Heap || !owns_from_stack(block, offset))) {
      return std::nullopt;
    }
    const std::uint32_t slot = record.slot_of(offset);
    if (!all_interior_ && from == From::Heap &&
        !counts(block, offset - slot * record.object_bytes())) {
      return std::nullopt;
    }
    return ObjectRef{block, slot};
  }
  // Whether a word with this displacement counts as a pointer if the collector does not recognise
  // interior pointers.
  [[nodiscard]] bool counts(std::uint32_t block, std::uint64_t displacement) const {
    return is_chunk(block) ||
           (displacement < displacements_.size() && displacements_[displacement]);
  }
  // Whether a block is an allocation of malloc.
  [[nodiscard]] bool is_chunk(std::uint32_t block) const {
    return shape_.is_chunk(index_->blocks[block]);
  }

  // The sizes of the heap that the block belongs to.
  [[nodiscard]] const SlotSizes& sizes_of(const Block& block) const {
    return index_->sizes.empty() ? shape_.sizes : index_->sizes[block.heap];
  }

  // The object that starts exactly at `word`.
  [[nodiscard]] std::optional<ObjectRef> object_at(std::uint64_t word) const {
    const auto ref = resolve(word, From::Stack);
    if (!ref || address(*ref).value != word) return std::nullopt;
    return ref;
  }

  // The copy of an object's contents. Shorter than the object if not all of it was copied; empty if
  // it was unreadable.
  [[nodiscard]] std::span<const std::byte> contents(ObjectRef ref) const {
    const Block& block = index_->blocks[ref.block];
    const std::uint64_t offset = ref.slot * block.object_bytes;
    const std::uint64_t copied = copied_[ref.block];
    if (offset >= copied) return {};
    return {records_[ref.block].data + offset, std::min(block.object_bytes, copied - offset)};
  }
  [[nodiscard]] std::optional<std::uint64_t> word_at(ObjectRef ref, std::uint64_t offset) const {
    const auto bytes = contents(ref);
    if (bytes.size() < 8 || offset > bytes.size() - 8) return std::nullopt;
    return load_word(bytes.data() + offset);
  }

  // The captured word at an address, in the heap or elsewhere; none if it was not captured.
  [[nodiscard]] std::optional<std::uint64_t> captured_word(RemoteAddr at) const;

  // How many threads may read the objects at a time without hindering each other.
  [[nodiscard]] unsigned most_readers() const { return capture_->most_readers(); }
  // Whether the contents are read when they are accessed, and only a part of them is here at a
  // time.
  [[nodiscard]] bool is_in_window() const { return capture_->has_open_window(); }
  // The number of blocks that should be scanned but of which nothing was copied.
  [[nodiscard]] std::uint64_t unreadable_blocks() const { return unreadable_; }

  // Sets how the heap's owner marks. Call it before reading words or edges.
  void follow(std::shared_ptr<const ScanRules> rules);
  [[nodiscard]] const std::shared_ptr<const ScanRules>& rules() const { return rules_; }

  // Hides words of the heap that the collector scans but that are not the program's pointers, such
  // as the heads of free lists in its thread records, so that they give no edges. Sorted, disjoint.
  void hide(std::vector<Range> words);
  [[nodiscard]] std::span<const Range> hidden() const { return hidden_; }

  // Calls visit(offset_words, word) for each word of an object that the collector scans, in order.
  template <class Visit>
  void for_each_word(ObjectRef ref, const Visit& visit) const {
    const Record& record = records_[ref.block];
    if (record.scan == Scan::Nothing) return;
    if (record.scan == Scan::Whole) {
      const std::byte* at = record.data + ref.slot * record.object_bytes();
      const std::uint32_t words = record.last_word + 1U;
      for (std::size_t i = 0; i < words; ++i) visit(i, load_word(at + i * 8));
      return;
    }
    const ScannedWords words = scanned_words(ref);
    heap::for_each_word(words, 0, words.count, visit);
  }

  // Calls visit(offset_words, target) for each word of an object that points into an object.
  template <class Visit>
  void for_each_edge(ObjectRef ref, const Visit& visit) const {
    if (shape_.shares_pages && !is_chunk(ref.block)) return for_each_edge_to_both(ref, visit);
    for_each_word(ref, [&](std::uint64_t offset_words, std::uint64_t word) {
      if (!spans(word)) return;
      if (const auto to = resolve(word)) visit(offset_words, *to);
    });
  }

  // The words of one object that the collector scans, by its descriptor.
  [[nodiscard]] ScannedWords scanned_words(ObjectRef ref) const;

  // How to scan the words of a block's objects.
  enum class Scan : std::uint8_t {
    Nothing,  // atomic, or not copied
    Whole,    // the first words of a small object, by a length descriptor
    Special,  // large, by a descriptor, or with hidden words: see scanned_words
  };

  // The data about a block that marking needs: half a cache line.
  struct alignas(32) Record {
    std::uint64_t start = 0;
    const std::byte* data = nullptr;  // the copy of the block; null if there is none
    std::uint32_t extent = 0;         // in units: smaller offsets count
    std::uint32_t first_slot = 0;
    std::uint32_t reciprocal = 0;  // 2^32 / object size, rounded up; 0 if there is one object
    std::uint16_t size_units = 0;  // of a small object; 0 if there is one object
    Scan scan = Scan::Nothing;
    std::uint8_t last_word = 0;  // of those scanned, if scan is Whole

    [[nodiscard]] std::uint64_t object_bytes() const { return size_units * kUnitBytes; }
    [[nodiscard]] std::uint32_t slot_of(std::uint64_t offset) const {
      return static_cast<std::uint32_t>((offset * reciprocal) >> 32);
    }
  };
  [[nodiscard]] const Record& record(std::uint32_t block) const { return records_[block]; }
  [[nodiscard]] bool recognises_interior() const { return all_interior_; }

  static constexpr std::uint64_t kUnitBytes = 8;  // all sizes and offsets are multiples of this
  static constexpr std::uint32_t kNone = 0xffffffff;
  // Whether `word` is between the first block's start and the last one's end. Most words are not.
  [[nodiscard]] bool spans(std::uint64_t word) const { return word - lowest_ < span_; }
  [[nodiscard]] std::uint32_t block_of(std::uint64_t word) const {
    return spans(word) ? block_within(word) : kNone;
  }
  // The block of a word that is known to be between the first block's start and the last one's end.
  [[nodiscard]] std::uint32_t block_within(std::uint64_t word) const {
    const std::uint64_t key = word >> kChunkShift;
    const std::uint32_t* pages =
        is_dense_ ? pages_.data() + (key - first_key_) * kChunkPages : find_pages(key);
    if (pages == nullptr) return kNone;
    const std::uint32_t entry = pages[(word >> kPageShift) & (kChunkPages - 1)];
    if (entry < kShared) return entry;
    return entry == kNone ? kNone : block_in_page(shared_[entry - kShared], word);
  }

 private:
  // Visits the edges of a collector's object in a heap that also has allocations of malloc.
  template <class Visit>
  void for_each_edge_to_both(ObjectRef ref, const Visit& visit) const {
    const auto bytes = contents(ref);
    std::uint64_t next = 0;
    const auto visit_chunks_before = [&](std::uint64_t end) {
      for (; next < end; ++next) {
        const auto to = resolve(load_word(bytes.data() + next * 8));
        if (to && is_chunk(to->block)) visit(next, *to);
      }
    };
    for_each_word(ref, [&](std::uint64_t offset_words, std::uint64_t word) {
      visit_chunks_before(offset_words);
      // Words of overlapping array elements are visited twice.
      next = std::max(next, offset_words + 1);
      if (const auto to = resolve(word)) visit(offset_words, *to);
    });
    visit_chunks_before(bytes.size() / 8);
  }

  static constexpr unsigned kChunkShift = 22;
  static constexpr unsigned kPageShift = 12;
  static constexpr std::size_t kChunkPages = 1U << (kChunkShift - kPageShift);
  static constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15;

  struct Chunk {
    std::uint64_t key = 0;
    const std::uint32_t* pages = nullptr;  // null: the entry is empty
  };

  // Entries of a page from this one on are not the numbers of blocks, but kShared plus an index
  // into shared_, or kNone.
  static constexpr std::uint32_t kShared = 0x80000000;

  // A page in which blocks begin. What lies before the first of them belongs to the block before.
  struct SharedPage {
    std::uint32_t first = 0;                // block to begin in it
    std::array<std::uint64_t, 4> starts{};  // a bit for each granule of a chunk
  };

  [[nodiscard]] static std::uint32_t block_in_page(const SharedPage& page, std::uint64_t word) {
    const std::uint64_t granule = word / kChunkGranule % (64 * page.starts.size());
    std::uint64_t ones = count_ones(page.starts[granule / 64] << (63 - granule % 64));
    for (std::uint64_t i = 0; i < granule / 64; ++i) ones += count_ones(page.starts[i]);
    const auto begun = static_cast<std::uint32_t>(ones);
    return page.first + begun == 0 ? kNone : page.first + begun - 1;
  }

  // Looks in the hash table. Null if there is no block in that chunk.
  [[nodiscard]] const std::uint32_t* find_pages(std::uint64_t key) const;

  static std::uint64_t load_word(const std::byte* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  void fill_records();
  void fill_table();
  void fill_hash_table(std::span<const std::uint64_t> keys);
  void share_page(std::uint32_t& entry, std::uint32_t block);
  // Whether a word on a stack references a large object that the same word in the heap would not.
  [[nodiscard]] bool owns_from_stack(std::uint32_t block, std::uint64_t offset) const;

  const BlockIndex* index_;
  const Capture* capture_;
  Shape shape_;
  bool all_interior_;
  std::shared_ptr<const ScanRules> rules_;
  Displacements displacements_{};  // those of the rules, or tags
  FlatArray<Record> records_;      // parallel to the blocks
  std::vector<std::uint64_t>
      copied_;  // parallel to the blocks: the number of bytes at Record::data
  std::uint64_t slots_ = 0;
  std::uint64_t unreadable_ = 0;
  std::uint64_t lowest_ = 0;
  std::uint64_t span_ = 0;
  bool is_dense_ = true;  // pages_ has every chunk from first_key_ on, and table_ is not used
  std::uint64_t first_key_ = 0;  // of the first chunk
  unsigned hash_shift_ = 63;
  std::uint64_t table_mask_ = 1;
  std::vector<Chunk> table_;
  FlatArray<std::uint32_t> pages_;  // of each chunk 1024
  std::vector<SharedPage> shared_;
  std::vector<Range> hidden_;
};

}  // namespace heapattach::heap
