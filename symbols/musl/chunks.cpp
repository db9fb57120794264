#include "symbols/musl/chunks.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "symbols/heap/ranges.h"

namespace heapattach::musl {

namespace {

using glibc::Words;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHeader = 16;
constexpr std::uint64_t kSizeUnit = 32;
constexpr std::uint64_t kInUse = 1;
constexpr std::uint64_t kFirst = kInUse;  // the size before a segment's first chunk
constexpr std::uint64_t kNext = 16;  // in a free chunk, and in a bin, which is addressed like one
constexpr std::uint64_t kPrevious = 24;
constexpr unsigned kBins = 64;
constexpr std::uint64_t kBinBytes = 24;
constexpr std::uint64_t kMostStrangers = 4096;  // visited in a bin, whose chunks may form a circle
constexpr unsigned kExactBins = 32;             // with chunks of one size each

// The bin with this number, addressed as if it were a chunk.
RemoteAddr bin_at(RemoteAddr bins, unsigned number) {
  return bins + number * kBinBytes + 8 - kNext;
}

enum class Bin : std::uint8_t { Unused, Empty, Full, Wrong };

Bin look_at_bin(const Words& words, RemoteAddr bins, unsigned number) {
  constexpr std::uint64_t kMostWaiting = 1 << 16;
  const RemoteAddr bin = bin_at(bins, number);
  const std::uint64_t lock = words.at_or_zero(bin + 8);
  const auto first = words.at(bin + kNext);
  const auto last = words.at(bin + kPrevious);
  if (!first || !last || (lock & 0xffffffff) > 1 || lock >> 32 > kMostWaiting) return Bin::Wrong;
  if (*first == 0 && *last == 0) return Bin::Unused;
  if (*first == bin.value && *last == bin.value) return Bin::Empty;
  const RemoteAddr chunk{*first};
  if (chunk.value % kSizeUnit != kHeader || words.at(chunk + kPrevious) != bin.value ||
      words.at(RemoteAddr{*last} + kNext) != bin.value) {
    return Bin::Wrong;
  }
  const std::uint64_t units = words.at_or_zero(chunk + 8) / kSizeUnit;
  const bool is_right = number < kExactBins ? units == number + 1 : units > kExactBins;
  return is_right ? Bin::Full : Bin::Wrong;
}

// Tolerates one wrong bin for each thread, which may have been stopped while it changed a bin.
bool are_bins(const Words& words, RemoteAddr bins, std::size_t threads) {
  const std::size_t most_wrong = std::clamp<std::size_t>(threads, 2, kBins / 4);
  std::size_t wrong = 0;
  std::size_t used = 0;
  const std::uint64_t full = words.at_or_zero(bins - 8);
  for (unsigned i = 0; i < kBins; ++i) {
    const Bin bin = look_at_bin(words, bins, i);
    if (bin != Bin::Unused) ++used;
    const bool is_marked = (full >> i & 1) != 0;
    if ((bin == Bin::Wrong || is_marked != (bin == Bin::Full)) && ++wrong > most_wrong)
      return false;
  }
  return used > wrong;
}

class Walk {
 public:
  Walk(const Words& words, std::size_t threads, Chunks& result)
      : words_(words), threads_(threads), result_(result) {}

  void find_segments(const Range& range) {
    for (RemoteAddr at = page_after(range.start); at + kPage <= range.end();) {
      if (const RemoteAddr touched = words_.next_touched(at); touched > at) {
        at = page_after(touched - (kPage - 1));
        continue;
      }
      at = page_after(std::max(at + 1, walk(at, at + kHeader, range.end())));
    }
  }

  // Finds chunks in the rest of a page before or after a module's data.
  void find_donated(const Range& rest) {
    RemoteAddr at{(rest.start.value + kSizeUnit - 1 - kHeader) / kSizeUnit * kSizeUnit + kHeader};
    while (at + 2 * kHeader <= rest.end()) at = std::max(at + kSizeUnit, walk(at, at, rest.end()));
  }

  void find_mapped(const Range& range) {
    for (RemoteAddr at = page_after(range.start); at + kPage <= range.end();) {
      if (const RemoteAddr touched = words_.next_touched(at); touched > at) {
        at = page_after(touched - (kPage - 1));
        continue;
      }
      at = at + std::max(kPage, add_mapped(at, range.end()));
    }
  }

  // Every free chunk must be in a bin, and every chunk in a bin must have been found.
  void check(RemoteAddr bins) {
    std::uint64_t free = 0;
    for (const Chunk& chunk : result_.all) free += chunk.state == ChunkState::Free ? 1 : 0;
    std::uint64_t listed = 0;
    for (unsigned i = 0; i < kBins; ++i) listed += count_bin(bin_at(bins, i));
    if (std::max(free, listed) - std::min(free, listed) > threads_ || strangers_ > threads_) {
      result_.problems.push_back(
          fmt::format("it lists {} free chunks, of which {} were not found; {} were found", listed,
                      strangers_, free));
    }
  }

 private:
  static RemoteAddr page_after(RemoteAddr at) {
    return RemoteAddr{(at.value + kPage - 1) & ~(kPage - 1)};
  }

  // Walks a segment that begins at `start`, if its first chunk is at `at`. Returns its end, or
  // `at`.
  RemoteAddr walk(RemoteAddr start, RemoteAddr at, RemoteAddr end) {
    if (words_.at(at) != kFirst) return at;
    const std::size_t before = result_.all.size();
    const RemoteAddr first = at;
    for (;;) {
      const std::uint64_t word = words_.at_or_zero(at + 8);
      const std::uint64_t bytes = word & ~kInUse;
      if (bytes == 0 && word == kInUse && at != first) break;
      const bool fits = bytes != 0 && bytes % kSizeUnit == 0 && bytes + kHeader <= end - at &&
                        (words_.at_or_zero(at + bytes) & ~kInUse) == bytes;
      if (!fits) return give_up(before, first, at);
      result_.all.push_back(
          {at, bytes, (word & kInUse) != 0 ? ChunkState::InUse : ChunkState::Free});
      at = at + bytes;
    }
    result_.claimed.push_back({start, at + kHeader - start});
    ++result_.segments;
    return at + kHeader;
  }

  // One chunk may be chance. Several that fit are a segment that is broken, or that a thread is
  // changing.
  RemoteAddr give_up(std::size_t before, RemoteAddr first, RemoteAddr at) {
    const std::size_t walked = result_.all.size() - before;
    result_.all.resize(before);
    if (walked < 2) return first;
    result_.problems.push_back(
        fmt::format("its chunks from {:#x} on are broken at {:#x}", first.value, at.value));
    return at;
  }

  // Adds the chunk of a mapping that begins at `at`, and returns the bytes of the mapping, or 0.
  std::uint64_t add_mapped(RemoteAddr at, RemoteAddr end) {
    if (words_.at(at + kHeader) != kHeader) return 0;
    const std::uint64_t bytes = words_.at_or_zero(at + kHeader + 8) + kHeader;
    if (bytes % kPage != 0 || bytes == 0 || bytes > end - at) return 0;
    const RemoteAddr chunk = aligned_in(at, bytes);
    result_.all.push_back({chunk, bytes - (chunk - at), ChunkState::Mapped});
    result_.claimed.push_back({at, bytes});
    result_.mapped_bytes += bytes;
    return bytes;
  }

  // With an alignment, a second header follows the first one.
  [[nodiscard]] RemoteAddr aligned_in(RemoteAddr at, std::uint64_t bytes) const {
    constexpr std::uint64_t kLeast = 2 * kSizeUnit;
    for (std::uint64_t to = kLeast; to < bytes; to *= 2) {
      const RemoteAddr payload{(at.value + kSizeUnit + to - 1) & ~(to - 1)};
      const std::uint64_t before = payload - kHeader - at;
      if (before <= kHeader || before + kSizeUnit > bytes) continue;
      const RemoteAddr header = at + before;
      if (words_.at(header) == before && words_.at(header + 8) == bytes - before) return header;
    }
    return at + kHeader;
  }

  std::uint64_t count_bin(RemoteAddr bin) {
    const std::uint64_t most = result_.all.size() + kMostStrangers;
    std::uint64_t count = 0;
    RemoteAddr at{words_.at_or_zero(bin + kNext)};
    while (at.value != 0 && at != bin && count <= most) {
      ++count;
      const auto found =
          std::lower_bound(result_.all.begin(), result_.all.end(), at,
                           [](const Chunk& chunk, RemoteAddr wanted) { return chunk.at < wanted; });
      if (found == result_.all.end() || found->at != at) ++strangers_;
      at = RemoteAddr{words_.at_or_zero(at + kNext)};
    }
    return count;
  }

  const Words& words_;
  std::size_t threads_;
  Chunks& result_;
  std::uint64_t strangers_ = 0;
};

// The parts of `ranges` that belong to no segment or mapping that was found.
std::vector<Range> unclaimed(std::span<const Range> ranges, const Chunks& found) {
  const std::vector<Range> claimed = heap::joined(found.claimed);
  std::vector<Range> rest;
  for (const Range& range : ranges) heap::subtract(range, claimed, rest);
  return rest;
}

void sort_disjoint(std::vector<Chunk>& chunks) {
  std::sort(chunks.begin(), chunks.end(),
            [](const Chunk& a, const Chunk& b) { return a.at < b.at; });
  RemoteAddr done{0};
  std::erase_if(chunks, [&](const Chunk& chunk) {
    if (chunk.at < done) return true;
    done = chunk.at + chunk.bytes;
    return false;
  });
}

}  // namespace

std::optional<RemoteAddr> find_bins(const Words& words,
                                    std::span<const Range> data,
                                    std::size_t threads) {
  for (const Range& range : data) {
    RemoteAddr at{(range.start.value + 7) & ~std::uint64_t{7}};
    while (at + 16 <= range.end()) {
      if (const RemoteAddr touched = words.next_touched(at); touched > at) {
        at = RemoteAddr{(touched.value + 7) & ~std::uint64_t{7}};
        continue;
      }
      // `at` may be the word of a used bin that has its first chunk: try each bin that it could be.
      const RemoteAddr bin = at - kNext;
      const std::uint64_t first = words.at_or_zero(at);
      const bool is_used =
          first == bin.value ||
          (first % kSizeUnit == kHeader && words.at(RemoteAddr{first} + kPrevious) == bin.value);
      for (unsigned i = 0; is_used && i < kBins; ++i) {
        const RemoteAddr bins = at - 8 - i * kBinBytes;
        if (are_bins(words, bins, threads)) return bins;
      }
      at = at + 8;
    }
  }
  return std::nullopt;
}

Chunks walk_chunks(const Words& words,
                   RemoteAddr bins,
                   std::span<const Range> anonymous,
                   std::span<const Range> data,
                   std::size_t threads) {
  Chunks found;
  Walk walk(words, threads, found);
  for (const Range& range : data) {
    const RemoteAddr start{range.start.value & ~(kPage - 1)};
    const RemoteAddr end{(range.end().value + kPage - 1) & ~(kPage - 1)};
    walk.find_donated({start, range.start - start});
    walk.find_donated({range.end(), end - range.end()});
  }
  for (const Range& range : unclaimed(anonymous, found)) walk.find_segments(range);
  for (const Range& range : unclaimed(anonymous, found)) walk.find_mapped(range);
  sort_disjoint(found.all);
  walk.check(bins);
  return found;
}

}  // namespace heapattach::musl
