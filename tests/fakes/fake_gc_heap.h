#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

#include "attach/memory_map.h"
#include "symbols/boehm/blocks.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// A collector's heap laid out by hand in a FakeMemory, as libgc 8.2.2 lays it out on x86-64: top
// index, bottom indices, headers with mark bytes, and blocks of objects.
//
//   FakeGcHeap heap;
//   const RemoteAddr node = heap.add_block({.object_bytes = 32});
//   heap.put(node + 8, node + 32);            // the first object points to the second
//   read_blocks(heap.memory(), heap.map(), heap.layout());
//
// Nothing is checked here: a test that wants a lie writes it over the truth with put().
class FakeGcHeap {
 public:
  static constexpr std::uint64_t kBlockBytes = 4096;
  static constexpr RemoteAddr kTopIndex{0x5550'0000'0000};
  static constexpr RemoteAddr kAllNils{0x5550'0001'0000};
  static constexpr RemoteAddr kBottoms{0x5550'0010'0000};
  static constexpr RemoteAddr kHeaders{0x5550'0020'0000};
  static constexpr RemoteAddr kHeap{0x7f12'3440'0000};
  static constexpr std::uint64_t kHeaderBytes = 328;
  static constexpr std::uint64_t kMarksAt = 0x40;
  static constexpr std::uint64_t kMaxBottoms = 8;
  static constexpr std::uint64_t kMaxHeaders = 128;

  // What add_block makes; what is left out is as the collector would have it.
  struct BlockSpec {
    std::uint64_t object_bytes = 0;
    std::uint8_t kind = boehm::kNormal;
    std::uint8_t flags = 0;
    std::optional<std::uint64_t> descriptor = std::nullopt;
    std::optional<RemoteAddr> at = std::nullopt;  // else behind the last one
  };

  // The heap's memory is `pages` blocks from kHeap on.
  explicit FakeGcHeap(std::uint64_t pages = 64) : pages_(pages) {
    memory_.map_zero(kTopIndex, 2048 * 8);
    memory_.map_zero(kAllNils, kBottomBytes);
    memory_.map_zero(kBottoms, kMaxBottoms * kBottomStride);
    memory_.map_zero(kHeaders, kMaxHeaders * kHeaderBytes);
    memory_.map_zero(kHeap, pages * kBlockBytes);
    for (std::uint64_t i = 0; i < 2048; ++i) put(kTopIndex + i * 8, kAllNils);
    layout_.top_index = kTopIndex;
    layout_.all_nils = kAllNils;
  }

  // Adds a block, or as many as one large object takes, and returns its address.
  RemoteAddr add_block(const BlockSpec& spec) {
    const RemoteAddr at = spec.at.value_or(next_);
    const std::uint64_t blocks =
        (std::max(spec.object_bytes, kBlockBytes) + kBlockBytes - 1) / kBlockBytes;
    next_ = at + blocks * kBlockBytes;
    const RemoteAddr header = kHeaders + headers_.size() * kHeaderBytes;
    headers_[at] = header;
    const bool is_atomic = spec.kind == boehm::kAtomic || spec.kind == boehm::kAtomicUncollectable;
    const bool is_large = spec.object_bytes > kBlockBytes / 2;
    const auto flags = static_cast<std::uint8_t>(spec.flags | (is_large ? boehm::kLargeBlock : 0));
    put(header + layout_.header_block, at);
    put(header + layout_.header_kind, spec.kind);
    put(header + layout_.header_flags, flags);
    put(header + layout_.header_size, spec.object_bytes);
    put(header + layout_.header_descriptor,
        spec.descriptor.value_or(is_atomic ? 0 : spec.object_bytes));
    set_entry(at, header.value);
    for (std::uint64_t i = 1; i < blocks; ++i) {
      set_entry(at + i * kBlockBytes, std::min<std::uint64_t>(i, kBlockBytes - 1));
    }
    // The mark behind the last object is always set.
    const std::uint64_t end =
        is_large ? kBlockBytes : kBlockBytes / spec.object_bytes * spec.object_bytes;
    put(header + kMarksAt + end / 16, std::uint8_t{1});
    return at;
  }

  // Sets the mark of the object at `at` in the block at `block`, as of the last collection.
  void set_mark(RemoteAddr block, RemoteAddr at) {
    const RemoteAddr header = headers_.at(block);
    put(header + kMarksAt + (at - block) / 16, std::uint8_t{1});
    ++marks_[block];
    put(header + kMarksAt - 8, marks_[block]);
  }

  // Makes the index say `entry` of the block at `at`.
  void set_entry(RemoteAddr at, std::uint64_t entry) {
    put(bottom_of(at) + (at.value >> 12 & 0x3ff) * 8, entry);
  }

  // The bottom index of the 4 MiB around `at`, made if there is none, at the head of its chain.
  RemoteAddr bottom_of(RemoteAddr at) {
    const std::uint64_t key = at.value >> 22;
    const auto [found, is_new] =
        bottoms_.try_emplace(key, kBottoms + bottoms_.size() * kBottomStride);
    if (is_new) {
      put(found->second + layout_.bottom_key, key);
      const RemoteAddr slot = kTopIndex + (key & 0x7ff) * 8;
      put(found->second + layout_.bottom_next, memory_.read_as<RemoteAddr>(slot).value());
      put(slot, found->second);
    }
    return found->second;
  }

  [[nodiscard]] RemoteAddr header_of(RemoteAddr block) const { return headers_.at(block); }

  template <class T>
  void put(RemoteAddr at, const T& value) {
    memory_.put(at, value);
  }
  // Links the words at `at` to each other's addresses, as a free list does; the last one gets 0.
  void link(std::initializer_list<RemoteAddr> objects) {
    for (auto it = objects.begin(); it != objects.end(); ++it) {
      put(*it, std::next(it) == objects.end() ? RemoteAddr{} : *std::next(it));
    }
  }
  // Further memory, such as a stack or a module's data.
  void add_memory(RemoteAddr at, std::uint64_t bytes) {
    memory_.map_zero(at, bytes);
    extra_.push_back({at, bytes});
  }

  [[nodiscard]] FakeMemory& memory() { return memory_; }
  boehm::Layout& layout() { return layout_; }

  [[nodiscard]] MemoryMap map() const {
    std::vector<Range> ranges = {{kTopIndex, 2048 * 8},
                                 {kAllNils, kBottomBytes},
                                 {kBottoms, kMaxBottoms * kBottomStride},
                                 {kHeaders, kMaxHeaders * kHeaderBytes},
                                 {kHeap, pages_ * kBlockBytes}};
    ranges.insert(ranges.end(), extra_.begin(), extra_.end());
    std::sort(ranges.begin(), ranges.end());
    std::vector<Mapping> mappings;
    for (const Range& range : ranges) {
      Mapping& mapping = mappings.emplace_back();
      mapping.range = range;
      mapping.readable = true;
      mapping.writable = true;
    }
    return MemoryMap(std::move(mappings));
  }

 private:
  static constexpr std::uint64_t kBottomBytes = 0x2020;
  static constexpr std::uint64_t kBottomStride = 0x2040;

  FakeMemory memory_;
  boehm::Layout layout_;
  std::uint64_t pages_;
  RemoteAddr next_ = kHeap;
  std::map<RemoteAddr, RemoteAddr> headers_;     // by block
  std::map<RemoteAddr, std::uint64_t> marks_;    // how many are set, by block
  std::map<std::uint64_t, RemoteAddr> bottoms_;  // by key
  std::vector<Range> extra_;
};

}  // namespace heapattach
