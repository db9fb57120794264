#include "tests/fakes/fake_gc_heap.h"

#include <algorithm>

namespace heapattach {

FakeGcHeap::FakeGcHeap(std::uint64_t pages) : pages_(pages) {
  memory_.map_zero(kTopIndex, 2048 * 8 + 8);
  memory_.map_zero(kAllNils, kBottomBytes);
  memory_.map_zero(kBottoms, kMaxBottoms * kBottomStride);
  memory_.map_zero(kHeaders, kMaxHeaders * kHeaderBytes);
  memory_.map_zero(kHeap, pages * kBlockBytes);
  for (std::uint64_t i = 0; i < 2048; ++i) put(kTopIndex + i * 8, kAllNils);
  layout_.top_index = kTopIndex;
  layout_.all_nils = kAllNils;
}

FakeGcHeap::~FakeGcHeap() = default;

void FakeGcHeap::use_word_headers() {
  memory_.map_zero(kMaps, 2 * kBlockBytes);
  extra_.push_back({kMaps, 2 * kBlockBytes});
  for (std::uint64_t i = 0; i < kBlockBytes; i += 8) put(kMaps + i, ~std::uint64_t{0});
  put(kFreeMapVariable, kMaps);
  layout_.word_headers = boehm::WordHeaders{.map = 0x20, .free_map = kMaps};
  layout_.header_size = 0;
  layout_.header_descriptor = 0x18;
  layout_.header_kind = 0x28;
  layout_.header_flags = 0x29;
  layout_.all_interior_pointers = false;
}

void FakeGcHeap::put_header(RemoteAddr header, RemoteAddr block, const BlockSpec& spec) {
  const bool is_atomic = spec.kind == heap::kAtomic || spec.kind == heap::kAtomicUncollectable;
  const bool is_large = spec.object_bytes > kBlockBytes / 2;
  put(header + layout_.header_kind, spec.kind);
  put(header + layout_.header_descriptor,
      spec.descriptor.value_or(is_atomic ? 0 : spec.object_bytes));
  if (layout_.word_headers) {
    const bool is_free = (spec.flags & boehm::kFreeBlock) != 0;
    put(header + layout_.header_size, spec.object_bytes / (is_free ? 1 : 8));
    put(header + layout_.word_headers->map, is_free ? kMaps : kMaps + kBlockBytes);
    return;
  }
  put(header + layout_.header_block, block);
  put(header + layout_.header_flags,
      static_cast<std::uint8_t>(spec.flags | (is_large ? boehm::kLargeBlock : 0)));
  put(header + layout_.header_size, spec.object_bytes);
  // The mark after the last object is always set.
  const std::uint64_t end =
      is_large ? kBlockBytes : kBlockBytes / spec.object_bytes * spec.object_bytes;
  put(header + kMarksAt + end / 16, std::uint8_t{1});
}

RemoteAddr FakeGcHeap::add_block(const BlockSpec& spec) {
  const RemoteAddr at = spec.at.value_or(next_);
  const std::uint64_t blocks =
      (std::max(spec.object_bytes, kBlockBytes) + kBlockBytes - 1) / kBlockBytes;
  next_ = at + blocks * kBlockBytes;
  const RemoteAddr header = kHeaders + headers_.size() * kHeaderBytes;
  headers_[at] = header;
  put_header(header, at, spec);
  set_entry(at, header.value);
  for (std::uint64_t i = 1; i < blocks; ++i) {
    set_entry(at + i * kBlockBytes, std::min<std::uint64_t>(i, kBlockBytes - 1));
  }
  return at;
}

void FakeGcHeap::set_mark(RemoteAddr block, RemoteAddr at) {
  const RemoteAddr header = headers_.at(block);
  put(header + kMarksAt + (at - block) / 16, std::uint8_t{1});
  ++marks_[block];
  put(header + kMarksAt - 8, marks_[block]);
}

void FakeGcHeap::set_entry(RemoteAddr at, std::uint64_t entry) {
  put(bottom_of(at) + (at.value >> 12 & 0x3ff) * 8, entry);
}

RemoteAddr FakeGcHeap::bottom_of(RemoteAddr at) {
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

RemoteAddr FakeGcHeap::header_of(RemoteAddr block) const {
  return headers_.at(block);
}

void FakeGcHeap::link(std::initializer_list<RemoteAddr> objects) {
  for (auto it = objects.begin(); it != objects.end(); ++it) {
    put(*it, std::next(it) == objects.end() ? RemoteAddr{} : *std::next(it));
  }
}

void FakeGcHeap::add_memory(RemoteAddr at, std::uint64_t bytes) {
  memory_.map_zero(at, bytes);
  extra_.push_back({at, bytes});
}

MemoryMap FakeGcHeap::map() const {
  std::vector<Range> ranges = {{kTopIndex, 2048 * 8 + 8},
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

}  // namespace heapattach
