#include "symbols/malloc/arenas.h"

#include <algorithm>
#include <array>
#include <utility>

namespace heapattach::glibc {

namespace {

constexpr std::uint64_t kPair = 16;     // two links
constexpr std::uint64_t kForward = 16;  // in a chunk, and in a bin, which is addressed like one
constexpr std::uint64_t kBack = 24;
constexpr std::array kLayouts{StateLayout{0x70, 0x10}, StateLayout{0x68, 0x08},
                              StateLayout{0x18, 0}};

// The bin with this number, from 0, addressed as if it were a chunk.
RemoteAddr bin_at(RemoteAddr bins, unsigned number) {
  return bins + number * kPair - kForward;
}

enum class Bin : std::uint8_t { Empty, Linked, InChange, Wrong };

Bin look_at_bin(const Words& words, RemoteAddr bin) {
  const auto forward = words.at(bin + kForward);
  const auto back = words.at(bin + kBack);
  if (!forward || !back) return Bin::Wrong;
  if (*forward == bin.value && *back == bin.value) return Bin::Empty;
  const auto after = words.at(RemoteAddr{*forward} + kBack);
  const auto before = words.at(RemoteAddr{*back} + kForward);
  if (!after || !before) return Bin::Wrong;
  return *after == bin.value && *before == bin.value ? Bin::Linked : Bin::InChange;
}

// Tolerates two bins that do not fit: a thread may have been stopped while it moved a chunk between
// them.
bool are_bins(const Words& words, RemoteAddr bins) {
  unsigned in_change = 0;
  for (unsigned i = 0; i < StateLayout::kBins; ++i) {
    const Bin bin = look_at_bin(words, bin_at(bins, i));
    if (bin == Bin::Wrong || (bin == Bin::InChange && ++in_change > 2)) return false;
  }
  return true;
}

// Returns nothing if the chain of `next` pointers does not return to its start.
std::vector<ArenaFound> follow_ring(const Words& words,
                                    RemoteAddr main,
                                    const StateLayout& layout) {
  constexpr std::size_t kMost = 1U << 16;
  std::vector<ArenaFound> found;
  RemoteAddr at = main;
  do {
    found.push_back({at, RemoteAddr{words.at_or_zero(at + layout.top())},
                     words.at_or_zero(at + layout.system_mem())});
    const auto next = words.at(at + layout.next());
    if (!next || found.size() > kMost) return {};
    at = RemoteAddr{*next};
    if (at != main && !are_bins(words, at + layout.bins)) return {};
  } while (at != main);
  return found;
}

// Tries each start that an arena with these bins may have: only the right one has a closed ring of
// `next` pointers.
std::optional<Arenas> arenas_around(const Words& words, RemoteAddr bins) {
  for (const StateLayout& layout : kLayouts) {
    Arenas arenas;
    arenas.layout = layout;
    arenas.all = follow_ring(words, bins - layout.bins, layout);
    if (!arenas.all.empty()) return arenas;
  }
  return std::nullopt;
}

// Nearly every place fails a quick test: the last bin is nearly always empty. The places just
// before the bins may pass the whole test, which tolerates two bins.
std::optional<Arenas> search(const Words& words, const Range& range) {
  constexpr std::uint64_t kToLast = (StateLayout::kBins - 1) * kPair;
  for (RemoteAddr at = range.start + kToLast; at + kPair <= range.end(); at = at + 8) {
    const RemoteAddr last = at - kForward;
    const std::uint64_t forward = words.at_or_zero(at);
    if (forward != last.value && words.at_or_zero(RemoteAddr{forward} + kBack) != last.value) {
      continue;
    }
    if (!are_bins(words, at - kToLast)) continue;
    if (auto arenas = arenas_around(words, at - kToLast)) return arenas;
  }
  return std::nullopt;
}

// Offsets from tcache_bins.
struct CountsAt {
  std::uint64_t mapped;    // n_mmaps
  std::uint64_t most;      // max_n_mmaps
  std::uint64_t is_fixed;  // no_dyn_threshold
};
constexpr CountsAt kSince235{0x2c, 0x24, 0x20};
constexpr CountsAt kBefore235{0x28, 0x20, 0x1c};

bool fits(const Words& words, RemoteAddr at, const CountsAt& counts, std::uint64_t mapped_bytes) {
  const auto mapped = words.small_at<std::uint32_t>(at - counts.mapped);
  const auto most = words.small_at<std::uint32_t>(at - counts.most);
  return mapped <= most && words.small_at<std::uint32_t>(at - counts.is_fixed) <= 1 &&
         (mapped == 0) == (mapped_bytes == 0);
}

std::optional<Parameters> parameters_at(const Words& words, RemoteAddr at) {
  constexpr std::uint64_t kMostBins = 64;
  constexpr std::uint64_t kMostBytes = 5U << 20;  // with the large bins since 2.42
  constexpr std::uint64_t kMostChunks = 0xffff;
  constexpr std::uint64_t kBeforeBins = 0x68;
  const std::uint64_t bins = words.at_or_zero(at);
  if (bins == 0 || bins > kMostBins || !words.has(at - kBeforeBins)) return std::nullopt;
  const std::uint64_t bytes = words.at_or_zero(at + 8);
  const bool is_last = bytes + 8 > bins * 16 && bytes <= bins * 16 + 17;
  if (!is_last && (bins != kMostBins || bytes < bins * 16 || bytes > kMostBytes))
    return std::nullopt;
  Parameters found;
  found.cache_count = words.at_or_zero(at + 16);
  found.sbrk_base = RemoteAddr{words.at_or_zero(at - 8)};
  const std::uint64_t most_mapped = words.at_or_zero(at - 0x10);
  found.mapped_bytes = words.at_or_zero(at - 0x18);
  if (found.cache_count > kMostChunks || found.mapped_bytes > most_mapped) return std::nullopt;
  if (found.mapped_bytes % 16 != 0 || most_mapped % 16 != 0) return std::nullopt;
  if (found.sbrk_base.value != 0 && !words.has(found.sbrk_base)) return std::nullopt;
  for (const CountsAt& counts : {kSince235, kBefore235}) {
    if (!fits(words, at, counts, found.mapped_bytes)) continue;
    found.mapped_chunks = words.small_at<std::uint32_t>(at - counts.mapped);
    return found;
  }
  return std::nullopt;
}

// Whether the first arena is contiguous from sbrk_base on, as it nearly always is.
bool is_contiguous(const Words& words, const Arenas& arenas, const Parameters& parameters) {
  const ArenaFound& main = arenas.all.front();
  const RemoteAddr end = main.top + (words.at_or_zero(main.top + 8) & ~std::uint64_t{7});
  return parameters.sbrk_base + main.system_mem == end;
}

std::optional<Parameters> find_parameters(const Words& words,
                                          const Range& range,
                                          const Arenas& arenas) {
  std::optional<Parameters> first;
  for (RemoteAddr at = range.start; at + 24 <= range.end(); at = at + 8) {
    auto found = parameters_at(words, at);
    if (!found) continue;
    if (is_contiguous(words, arenas, *found)) return found;
    if (!first && found->cache_count != 0) first = found;
  }
  return first;
}

}  // namespace

std::optional<Arenas> find_arenas(const Words& words, std::span<const Range> data) {
  std::optional<Arenas> chosen;
  Range chosen_in;
  std::size_t in_use = 0;
  for (const Range& range : data) {
    auto arenas = search(words, range);
    if (!arenas) continue;
    if (arenas->bytes() > 0) ++in_use;
    if (chosen && chosen->bytes() >= arenas->bytes()) continue;
    chosen = std::move(arenas);
    chosen_in = range;
  }
  if (!chosen) return std::nullopt;
  chosen->others = in_use > 0 ? in_use - 1 : 0;
  chosen->parameters = find_parameters(words, chosen_in, *chosen);
  for (const Range& other : data) {
    if (chosen->parameters) break;
    chosen->parameters = find_parameters(words, other, *chosen);
  }
  return chosen;
}

}  // namespace heapattach::glibc
