#include "tests/fakes/fake_malloc_heap.h"

#include <algorithm>
#include <memory>

namespace heapattach {

namespace {

constexpr std::uint64_t kInUse = 1;  // the previous chunk is in use
constexpr std::uint64_t kIsMapped = 2;
constexpr std::uint64_t kCacheCount = 7;

}  // namespace

const std::vector<MallocRelease>& malloc_releases() {
  static const std::vector<MallocRelease> releases{
      {"2.26", 0x68, 0x08, 0x250, false, false, false},
      {"2.27", 0x70, 0x10, 0x250, false, false, false},
      {"2.30", 0x70, 0x10, 0x290, false, false, false},
      {"2.32", 0x70, 0x10, 0x290, true, false, false},
      {"2.35", 0x70, 0x10, 0x290, true, true, false},
      {"2.42", 0x70, 0x10, 0x300, true, true, true},
      {"2.43", 0x18, 0x00, 0x300, true, true, true, 16},
  };
  return releases;
}

FakeMallocHeap::FakeMallocHeap(const MallocRelease& release) : release_(release), cached_(64) {
  memory_.map_zero(kData, 0x4000);
  memory_.map_zero(kHeap, kHeapBytes);
  memory_.map_zero(kMapped, kMappedBytes);
  cache_ = add(release.cache_chunk);
  poke(kThread - 0x48, cache_.value);
}

void FakeMallocHeap::poke(RemoteAddr at, std::uint64_t word) {
  memory_.put(at, word);
}

std::uint64_t FakeMallocHeap::peek(RemoteAddr at) {
  return memory_.read_as<std::uint64_t>(at).value();
}

RemoteAddr FakeMallocHeap::append(std::uint64_t chunk_bytes) {
  const RemoteAddr chunk = next_;
  poke(chunk + 8, chunk_bytes | (is_previous_free_ ? 0 : kInUse));
  is_previous_free_ = false;
  next_ = next_ + chunk_bytes;
  return chunk;
}

RemoteAddr FakeMallocHeap::add(std::uint64_t chunk_bytes) {
  return append(chunk_bytes) + 16;
}

RemoteAddr FakeMallocHeap::add_free(std::uint64_t chunk_bytes) {
  const RemoteAddr chunk = append(chunk_bytes);
  free_.push_back(chunk);
  poke(next_, chunk_bytes);
  is_previous_free_ = true;
  return chunk + 16;
}

void FakeMallocHeap::link(RemoteAddr at, std::uint64_t to) {
  poke(at, release_.links_safely ? at.value >> 12 ^ to : to);
}

RemoteAddr FakeMallocHeap::add_fast(std::uint64_t chunk_bytes) {
  const RemoteAddr chunk = append(chunk_bytes);
  const RemoteAddr bin = kArena + release_.fast_bins + (chunk_bytes / 16 - 2) * 8;
  link(chunk + 16, peek(bin));
  poke(bin, chunk.value);
  return chunk + 16;
}

RemoteAddr FakeMallocHeap::add_cached(std::uint64_t chunk_bytes) {
  const RemoteAddr at = append(chunk_bytes) + 16;
  cached_[chunk_bytes / 16 - 2].push_back(at);
  return at;
}

RemoteAddr FakeMallocHeap::add_mapped(std::uint64_t bytes, std::uint64_t aligned) {
  const RemoteAddr start = next_mapped_;
  next_mapped_ = next_mapped_ + bytes;
  ++mapped_;
  poke(start + 8, (bytes - release_.behind_mapped) | kIsMapped);
  if (aligned == 16) return start + 16;
  const RemoteAddr moved = start + aligned - 16;
  poke(moved, moved - start);
  poke(moved + 8, (bytes - release_.behind_mapped - (moved - start)) | kIsMapped);
  return moved + 16;
}

Range FakeMallocHeap::add_foreign(std::uint64_t bytes) {
  append(0x10);
  append(0x10);
  const Range range{next_, bytes};
  next_ = range.end();
  return range;
}

void FakeMallocHeap::add_second_library(std::uint64_t system_mem) {
  has_second_ = true;
  memory_.map_zero(kSecond, kSecondBytes);
  const glibc::StateLayout layout{release_.bins, release_.fast_bins};
  write_empty_bins(kSecond + layout.bins);
  poke(kSecond + layout.next(), kSecond.value);
  poke(kSecond + layout.system_mem(), system_mem);
}

void FakeMallocHeap::add_arena(std::optional<RemoteAddr> before) {
  constexpr std::uint64_t kFlags = 5;  // the previous chunk is in use; not in main_arena
  has_other_arena_ = true;
  memory_.map_zero(kFirstHeap - 0x1000, 0x1000 + kOtherBytes);
  memory_.map_zero(kSecondHeap, kOtherBytes);
  for (const RemoteAddr heap : {kFirstHeap, kSecondHeap}) {
    poke(heap, kOtherArena.value);
    poke(heap + 16, kOtherBytes);
  }
  poke(kSecondHeap + 8, before.value_or(kFirstHeap).value);
  const glibc::StateLayout layout{release_.bins, release_.fast_bins};
  write_empty_bins(kOtherArena + layout.bins);
  const RemoteAddr chunk = kOtherArena + (layout.bytes() + 15) / 16 * 16;
  const RemoteAddr fence = kFirstHeap + kOtherBytes - 0x20;
  poke(chunk + 8, (fence - chunk) | kFlags);
  poke(fence + 8, 0x10 | kFlags);
  poke(fence + 0x18, 0x10 | kFlags);
  const RemoteAddr top = kSecondHeap + 0x60;
  poke(top - 0x20 + 8, 0x20 | kFlags);
  poke(top + 8, (kSecondHeap + kOtherBytes - top) | kFlags);
  poke(kOtherArena + layout.top(), top.value);
  poke(kOtherArena + layout.next(), kArena.value);
  poke(kOtherArena + layout.system_mem(), 2 * kOtherBytes);
}

void FakeMallocHeap::write_empty_bins(RemoteAddr bins) {
  for (unsigned i = 0; i < glibc::StateLayout::kBins; ++i) {
    const RemoteAddr bin = bins + i * std::uint64_t{16} - 16;
    poke(bin + 16, bin.value);
    poke(bin + 24, bin.value);
  }
}

void FakeMallocHeap::write_bins() {
  const RemoteAddr bins = kArena + release_.bins;
  write_empty_bins(bins);
  // All free chunks are in the first bin, which is unsorted.
  RemoteAddr before = bins - 16;
  for (const RemoteAddr chunk : free_) {
    poke(before + 16, chunk.value);
    poke(chunk + 24, before.value);
    before = chunk;
  }
  poke(before + 16, bins.value - 16);
  poke(bins + 8, before.value);
}

void FakeMallocHeap::put_count(unsigned bin, std::uint64_t count) {
  const std::uint64_t number = release_.counts_free_places ? kCacheCount - count : count;
  if (release_.cache_chunk == 0x250) {
    memory_.put(cache_ + bin, static_cast<std::uint8_t>(number));
  } else {
    memory_.put(cache_ + bin * std::uint64_t{2}, static_cast<std::uint16_t>(number));
  }
}

void FakeMallocHeap::write_cache() {
  constexpr std::uint64_t kKey = 0x1234567890abcdef;
  const bool is_wide = release_.cache_chunk == 0x300;
  const unsigned bins = is_wide ? 76 : 64;
  const std::uint64_t entries = release_.cache_chunk == 0x250 ? bins : 2 * bins;
  for (unsigned bin = 0; bin < bins; ++bin) {
    const auto& chunks = bin < cached_.size() ? cached_[bin] : std::vector<RemoteAddr>{};
    const auto missed = std::count(miscounted_.begin(), miscounted_.end(), bin);
    put_count(bin, chunks.size() - static_cast<std::uint64_t>(missed));
    std::uint64_t first = 0;
    for (const RemoteAddr at : chunks) {
      link(at, first);
      poke(at + 8, kKey);
      first = at.value;
    }
    poke(cache_ + entries + bin * std::uint64_t{8}, first);
  }
}

void FakeMallocHeap::write_parameters() {
  const RemoteAddr bins = kParameters + (release_.is_since_235 ? 0x68 : 0x50);
  poke(bins, 64);
  poke(bins + 8, release_.counts_free_places ? 0x411 : 1032);
  poke(bins + 16, kCacheCount);
  poke(bins - 8, kHeap.value);
  poke(bins - 0x10, next_mapped_ - kMapped);
  poke(bins - 0x18, next_mapped_ - kMapped - drift_);
  const std::uint64_t counts = release_.is_since_235 ? 0x2c : 0x28;
  memory_.put(bins - counts, static_cast<std::uint32_t>(mapped_));
  memory_.put(bins - counts + 4, std::uint32_t{65536});
  memory_.put(bins - counts + 8, static_cast<std::uint32_t>(mapped_));
}

Result<glibc::Heap> FakeMallocHeap::read(std::span<const Range> foreign) {
  const RemoteAddr top = append(0x1000);
  const glibc::StateLayout layout{release_.bins, release_.fast_bins};
  poke(kArena + layout.top(), top.value);
  poke(kArena + layout.top() + 8, top.value);  // the last remainder, often the same
  poke(kArena + layout.next(), has_other_arena_ ? kOtherArena.value : kArena.value);
  poke(kArena + layout.system_mem(), system_mem());
  write_bins();
  write_parameters();
  write_cache();
  std::vector<Range> all{{kHeap, kHeapBytes}, {kMapped, kMappedBytes}, {kData, 0x4000}};
  std::vector<Range> data{{kData, 0x4000}};
  if (has_second_) {
    all.push_back({kSecond, kSecondBytes});
    data.insert(data.begin(), all.back());
  }
  std::vector<Range> anonymous{{kHeap, kHeapBytes}, {kMapped, kMappedBytes}};
  if (has_other_arena_) {
    anonymous.push_back({kFirstHeap - 0x1000, 0x1000 + kOtherBytes});
    anonymous.push_back({kSecondHeap, kOtherBytes});
    all.insert(all.end(), anonymous.end() - 2, anonymous.end());
    std::sort(all.begin(), all.end());
    std::sort(anonymous.begin(), anonymous.end());
  }
  capture_ = std::make_unique<Capture>(Arena::reserve(1 << 22, 0).value());
  HA_TRY(capture_->add(memory_, all, {}));
  const std::vector<RemoteAddr> threads{kThread};
  return glibc::read_heap(*capture_, {data, anonymous, threads, {}, foreign});
}

}  // namespace heapattach
