#include "symbols/malloc/chunks.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace heapattach::glibc {

namespace {

constexpr std::uint64_t kFlags = 7;
constexpr std::uint64_t kPrevInUse = 1;
constexpr std::uint64_t kNotMain = 4;  // the chunk belongs to an arena other than main_arena
constexpr std::uint64_t kLeast = 0x20;
constexpr std::uint64_t kFence = 0x10;
constexpr std::uint64_t kPage = 4096;

// The search for pieces of main_arena also follows words that only look like chunks. One step per
// kBytesPerStep bytes of memory, plus kLeastSteps, keeps the time for false data from growing with
// the square of its size.
constexpr std::uint64_t kBytesPerStep = 64;
constexpr std::uint64_t kLeastSteps = 1 << 16;

std::uint64_t aligned(std::uint64_t value, std::uint64_t to = 16) {
  return (value + to - 1) & ~(to - 1);
}

enum class Stop : std::uint8_t { Top, Fence, End, Broken };

struct WalkEnd {
  RemoteAddr at;  // after the last chunk
  Stop how = Stop::Broken;
};

// Calls visit(at, size word) for each chunk from `at` on, until the top chunk, a fence or `end`.
template <class Visit>
WalkEnd follow(const Words& words, RemoteAddr at, RemoteAddr end, RemoteAddr top, Visit visit) {
  while (at + 16 <= end) {
    const std::uint64_t word = words.at_or_zero(at + 8);
    const std::uint64_t bytes = word & ~kFlags;
    if (at == top) {
      visit(at, word);
      const bool fits = bytes % 16 == 0 && bytes <= end - at;
      return {fits ? at + bytes : at, fits ? Stop::Top : Stop::Broken};
    }
    if (bytes == kFence || bytes == 0) {
      const std::uint64_t second = words.at_or_zero(at + 0x18);
      const bool is_second =
          (second & kPrevInUse) != 0 && ((second & ~kFlags) == kFence || (second & ~kFlags) == 0);
      if (bytes == 0 || !is_second || at + 0x20 > end) break;
      visit(at, word);
      return {at + 0x20, Stop::Fence};
    }
    if (bytes < kLeast || bytes % 16 != 0 || bytes > end - at || (word & 2) != 0) break;
    visit(at, word);
    at = at + bytes;
  }
  return {at, at == end ? Stop::End : Stop::Broken};
}

class ArenaWalk {
 public:
  ArenaWalk(const Words& words,
            const Arenas& arenas,
            const std::vector<Range>& anonymous,
            std::span<const Range> foreign)
      : words_(words), arenas_(arenas), anonymous_(anonymous), foreign_(foreign) {
    std::uint64_t bytes = 0;
    for (const Range& range : anonymous) bytes += range.bytes;
    steps_left_ = kLeastSteps + bytes / kBytesPerStep;
    walked_.bytes.resize(arenas.all.size());
    walked_.is_broken.resize(arenas.all.size());
  }

  Walked run() && {
    walk_main();
    for (std::uint32_t i = 1; i < arenas_.all.size(); ++i) walk_heaps(i);
    const auto by_address = [](const Chunk& a, const Chunk& b) { return a.at < b.at; };
    // The arenas of threads may be anywhere; within each piece, chunks come in order.
    if (!std::is_sorted(walked_.chunks.begin(), walked_.chunks.end(), by_address)) {
      std::sort(walked_.chunks.begin(), walked_.chunks.end(), by_address);
    }
    std::sort(walked_.claimed.begin(), walked_.claimed.end());
    return std::move(walked_);
  }

 private:
  // Walks one piece of memory and keeps its chunks.
  WalkEnd walk(RemoteAddr from, RemoteAddr end, std::uint32_t arena) {
    auto& chunks = walked_.chunks;
    const std::size_t first = chunks.size();
    const RemoteAddr top = arenas_.all[arena].top;
    const WalkEnd stop = follow(words_, from, end, top, [&](RemoteAddr at, std::uint64_t word) {
      if (chunks.size() > first && (word & kPrevInUse) == 0) {
        chunks.back().state = ChunkState::Free;
        note_size_before(chunks.back(), at);
      }
      if (arena == 0 && (word & kNotMain) != 0) note_problem("a chunk of another arena", at, arena);
      const std::uint64_t bytes = word & ~kFlags;
      const ChunkState state = at == top         ? ChunkState::Top
                               : bytes == kFence ? ChunkState::Fence
                                                 : ChunkState::InUse;
      chunks.push_back({at, state == ChunkState::Fence ? 2 * kFence : bytes, arena, state});
    });
    walked_.claimed.push_back({from, stop.at - from});
    if (stop.how == Stop::Broken) note_problem("an impossible chunk", stop.at, arena);
    return stop;
  }

  // The chunk after a free one contains the free one's size, too.
  void note_size_before(const Chunk& free, RemoteAddr behind) {
    if (words_.at_or_zero(behind) == free.bytes) return;
    note_problem("a free chunk with two different sizes", free.at, free.arena);
  }

  // Only the first problem of each arena is kept.
  void note_problem(std::string_view what, RemoteAddr at, std::uint32_t arena) {
    if (walked_.is_broken[arena]) return;
    walked_.is_broken[arena] = true;
    walked_.problems.push_back(
        fmt::format("arena {:#x} has {} at {:#x}", arenas_.all[arena].at.value, what, at.value));
  }

  void walk_main() {
    const ArenaFound& main = arenas_.all.front();
    if (main.system_mem == 0) return;
    const RemoteAddr base = arenas_.parameters ? arenas_.parameters->sbrk_base : RemoteAddr{0};
    bool is_at_top = false;
    if (base.value != 0) {
      const RemoteAddr limit = words_.end_of(base);
      WalkEnd stop = walk(RemoteAddr{aligned(base.value)}, limit, 0);
      std::uint64_t pieces = stop.at - base;
      while (stop.how == Stop::Fence) {
        const auto next = next_piece(stop.at, limit);
        if (!next) break;
        stop = walk(*next, limit, 0);
        pieces += stop.at - *next;
      }
      is_at_top = stop.how == Stop::Top;
      // If the program itself moved the break, system_mem includes the memory between malloc's
      // pieces.
      walked_.bytes[0] = is_at_top && stop.at - base == main.system_mem ? main.system_mem : pieces;
    }
    for (const Range& piece : walked_.claimed) static_cast<void>(claim(piece));
    if (is_at_top && walked_.bytes[0] == main.system_mem) return;
    for (const Range& range : anonymous_) walk_mapped_pieces(range);
  }

  // Finds the next chain of chunks that ends at the top chunk or at another fence.
  std::optional<RemoteAddr> next_piece(RemoteAddr from, RemoteAddr end) {
    constexpr int kMostTries = 10'000;
    int tries = 0;
    for (RemoteAddr at{aligned(from.value)}; at + kLeast <= end && tries < kMostTries;
         at = words_.next_touched(at + 16)) {
      if (const Range* const hole = foreign_at(at)) {
        at = RemoteAddr{aligned(hole->end().value) - 16};
        continue;
      }
      if ((words_.at_or_zero(at + 8) & kFlags) != kPrevInUse) continue;
      ++tries;
      if (end_of_chain(at, end)) return at;
    }
    return std::nullopt;
  }

  [[nodiscard]] const Range* foreign_at(RemoteAddr at) const {
    const auto hole = std::partition_point(foreign_.begin(), foreign_.end(),
                                           [at](const Range& one) { return one.end() <= at; });
    return hole != foreign_.end() && hole->contains(at) ? &*hole : nullptr;
  }

  // The end of the chain of main_arena's chunks that begins at `at`; nothing if there is none.
  [[nodiscard]] std::optional<RemoteAddr> end_of_chain(RemoteAddr at, RemoteAddr end) {
    if (steps_left_ == 0) return std::nullopt;
    std::size_t chunks = 0;
    bool is_of_main = true;
    const WalkEnd stop =
        follow(words_, at, end, arenas_.all.front().top, [&](RemoteAddr, std::uint64_t word) {
          ++chunks;
          is_of_main = is_of_main && (word & kNotMain) == 0;
        });
    const bool is_whole = stop.how == Stop::Top || (stop.how == Stop::Fence && chunks > 1);
    if (is_whole && is_of_main) return stop.at;
    steps_left_ -= std::min<std::uint64_t>(steps_left_, chunks);
    return std::nullopt;
  }

  // Walks the pieces of main_arena that are mappings. Each begins at the start of a page.
  void walk_mapped_pieces(const Range& range) {
    const RemoteAddr base = arenas_.parameters ? arenas_.parameters->sbrk_base : RemoteAddr{0};
    if (base.value != 0 && range.contains(base)) return;  // walked before
    for (RemoteAddr at{aligned(range.start.value, kPage)}; at + kPage <= range.end();) {
      if (const RemoteAddr next = words_.next_touched(at); next != at) {
        at = RemoteAddr{aligned(next.value, kPage)};
        continue;
      }
      const bool may_be = (words_.at_or_zero(at + 8) & kFlags) == kPrevInUse;
      const auto chain = may_be ? end_of_chain(at, range.end()) : std::nullopt;
      if (!chain || chain->value % kPage != 0 || !claim({at, *chain - at})) {
        at = at + kPage;
        continue;
      }
      const WalkEnd stop = walk(at, range.end(), 0);
      walked_.bytes[0] += stop.at - at;
      at = stop.at;
    }
  }

  // A heap's header contains its arena, the previous heap, and its size.
  struct HeapFound {
    RemoteAddr at;
    RemoteAddr before;
    std::uint64_t bytes = 0;
  };

  // Heaps are aligned to 64 MiB; with huge pages, to 256 MiB.
  [[nodiscard]] std::optional<HeapFound> heap_around(RemoteAddr at, RemoteAddr arena) const {
    constexpr std::array<unsigned, 9> kShifts{26, 23, 32, 25, 24, 22, 21, 20, 27};
    for (const unsigned shift : kShifts) {
      const RemoteAddr heap{at.value >> shift << shift};
      if (words_.at_or_zero(heap) != arena.value) continue;
      const std::uint64_t bytes = words_.at_or_zero(heap + 16);
      if (bytes == 0 || bytes % kPage != 0 || bytes >> shift > 1 || at - heap >= bytes) continue;
      return HeapFound{heap, RemoteAddr{words_.at_or_zero(heap + 8)}, bytes};
    }
    return std::nullopt;
  }

  void walk_heaps(std::uint32_t number) {
    const ArenaFound& arena = arenas_.all[number];
    const auto first = heap_around(arena.at, arena.at);
    std::optional<HeapFound> heap = heap_around(arena.top, arena.at);
    constexpr int kMost = 1 << 20;
    for (int count = 0; first && heap && count < kMost; ++count) {
      const bool is_first = heap->at == first->at;
      // In the first heap, the arena itself follows the header.
      const RemoteAddr start = is_first ? arena.at + aligned(arenas_.layout.bytes())
                                        : heap->at + aligned(arena.at - first->at);
      const RemoteAddr end = heap->at + heap->bytes;
      if (!claim({heap->at, heap->bytes})) {
        return note_problem("a heap that overlaps another", heap->at, number);
      }
      const WalkEnd stop = walk(start, end, number);
      walked_.claimed.back() = {heap->at, heap->bytes};
      if (stop.how != Stop::Broken && stop.at == end) walked_.bytes[number] += heap->bytes;
      if (is_first) return;
      heap = heap_around(heap->before, arena.at);
    }
    walked_.problems.push_back(
        fmt::format("the heaps of arena {:#x} were not found", arena.at.value));
  }

  // Returns false if part of `memory` was walked before. Links between heaps may form a cycle, but
  // the chunks must not overlap.
  bool claim(Range memory) {
    const auto after = taken_.lower_bound(memory.start);
    if (after != taken_.end() && after->first < memory.end()) return false;
    if (after != taken_.begin() && std::prev(after)->second > memory.start) return false;
    if (memory.bytes > 0) taken_.emplace(memory.start, memory.end());
    return true;
  }

  const Words& words_;
  const Arenas& arenas_;
  const std::vector<Range>& anonymous_;
  std::span<const Range> foreign_;
  std::map<RemoteAddr, RemoteAddr>
      taken_;  // the end of each piece, by its start; they are disjoint
  std::uint64_t steps_left_ = kLeastSteps;  // limits chains without an end
  Walked walked_;
};

// Mapped chunks begin at a page's start. memalign leaves that header there and adds another one
// further on, which contains its distance from the mapping's start.
class MappedSearch {
 public:
  MappedSearch(const Words& words, Walked& walked) : words_(words), walked_(walked) {}

  // A chunk may reach beyond the range: madvise() and mprotect() of a part divide a mapping.
  void run(const Range& range) {
    RemoteAddr at = std::max(RemoteAddr{aligned(range.start.value, kPage)}, done_);
    while (at + kPage <= range.end()) {
      if (const RemoteAddr next = words_.next_touched(at); next != at) {
        at = RemoteAddr{aligned(next.value, kPage)};
        continue;
      }
      while (claimed_ != walked_.claimed.size() && walked_.claimed[claimed_].end() <= at)
        ++claimed_;
      if (claimed_ != walked_.claimed.size() && walked_.claimed[claimed_].start < at + kPage) {
        at = RemoteAddr{aligned(walked_.claimed[claimed_].end().value, kPage)};
        continue;
      }
      RemoteAddr end = std::max(range.end(), words_.end_of(at));
      if (claimed_ != walked_.claimed.size()) end = std::min(end, walked_.claimed[claimed_].start);
      const auto found = chunk_in_page(at, end);
      if (found) found_.push_back(*found);
      at = found ? found->at + found->bytes + found->behind : at + kPage;
    }
    done_ = at;
  }

  std::vector<Chunk> take() && { return std::move(found_); }

 private:
  static constexpr std::uint64_t kMapped = 2;
  static constexpr std::uint64_t kHuge = 1;  // a flag of the distance, since 2.43: huge pages

  [[nodiscard]] std::optional<Chunk> chunk_in_page(RemoteAddr page, RemoteAddr end) const {
    const std::uint64_t word = words_.at_or_zero(page + 8);
    const std::uint64_t bytes = word & ~kFlags;
    const std::uint8_t behind = bytes % kPage == 0 ? 0 : 16;
    const bool is_chunk = (word & kFlags) == kMapped && (words_.at_or_zero(page) & ~kHuge) == 0 &&
                          bytes != 0 && (bytes + behind) % kPage == 0;
    if (!is_chunk) return std::nullopt;
    // realloc() changes the size in the other header only.
    const std::uint64_t most = std::min<std::uint64_t>(bytes, end - page);
    for (std::uint64_t to = 32; to < most; to = to < kPage ? to * 2 : to + kPage) {
      const RemoteAddr at = page + to - 16;
      const std::uint64_t moved = words_.at_or_zero(at + 8);
      const std::uint64_t rest = moved & ~kFlags;
      const bool is_moved = (moved & kFlags) == kMapped && rest != 0 &&
                            (words_.at_or_zero(at) & ~kHuge) == at - page &&
                            (at.value + rest + behind) % kPage == 0 && rest + behind <= end - at;
      if (is_moved) return Chunk{at, rest, 0, ChunkState::Mapped, behind};
    }
    if (bytes + behind > end - page) return std::nullopt;
    return Chunk{page, bytes, 0, ChunkState::Mapped, behind};
  }

  const Words& words_;
  Walked& walked_;
  std::size_t claimed_ = 0;
  RemoteAddr done_{0};  // the end of what was searched
  std::vector<Chunk> found_;
};

}  // namespace

Walked walk_arenas(const Words& words,
                   const Arenas& arenas,
                   const std::vector<Range>& anonymous,
                   std::span<const Range> foreign) {
  return ArenaWalk(words, arenas, anonymous, foreign).run();
}

void add_mapped(const Words& words, const std::vector<Range>& anonymous, Walked& walked) {
  MappedSearch search(words, walked);
  for (const Range& range : anonymous) search.run(range);
  std::vector<Chunk> found = std::move(search).take();
  const auto middle = static_cast<std::ptrdiff_t>(walked.chunks.size());
  for (const Chunk& chunk : found) {
    const std::uint64_t before =
        chunk.at.value % kPage == 0 ? 0 : words.at_or_zero(chunk.at) & ~15U;
    walked.claimed.push_back({chunk.at - before, before + chunk.bytes + chunk.behind});
    walked.chunks.push_back(chunk);
  }
  std::sort(walked.claimed.begin(), walked.claimed.end());
  std::inplace_merge(walked.chunks.begin(), walked.chunks.begin() + middle, walked.chunks.end(),
                     [](const Chunk& a, const Chunk& b) { return a.at < b.at; });
}

std::size_t find_chunk(const Chunks& chunks, RemoteAddr at) {
  const auto found = std::lower_bound(chunks.begin(), chunks.end(), at,
                                      [](const Chunk& one, RemoteAddr a) { return one.at < a; });
  if (found == chunks.end() || found->at != at) return chunks.size();
  return static_cast<std::size_t>(found - chunks.begin());
}

}  // namespace heapattach::glibc
