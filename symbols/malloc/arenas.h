#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/malloc/words.h"

// Finds the arenas of glibc's malloc by their shape, without symbols, in glibc's own words:
//
// - `main_arena` is a malloc_state in the C library's data. Its 127 bins are pairs of links: an
//   empty bin points to itself, and any other bin's first and last chunk point back to it. No other
//   data looks like that.
// - `next` links the arenas in a ring. The distance from the start of an arena, where `next`
//   points, to its bins distinguishes the releases:
//
//       2.26         mutex, flags, fast bins[10], top, last_remainder, bins
//       2.27         the same, with have_fastchunks before the fast bins
//       2.43         no fast bins
//
//   From the bins on, all releases agree.
// - `mp_` has tcache_bins and tcache_max_bytes, the largest request of the last of these bins.
//   After them is tcache_count; before them are sbrk_base, the maximum of mmapped_mem, mmapped_mem,
//   four counts of mapped chunks, of which 2.35 moved the first by four bytes.
namespace heapattach::glibc {

// Offsets of the members of a malloc_state.
struct StateLayout {
  std::uint64_t bins = 0x70;
  std::uint64_t fast_bins = 0x10;  // 0: there are none

  static constexpr unsigned kBins = 127;
  static constexpr unsigned kFastBins = 10;
  [[nodiscard]] std::uint64_t top() const { return bins - 0x10; }
  [[nodiscard]] std::uint64_t next() const { return bins + 0x800; }
  [[nodiscard]] std::uint64_t system_mem() const { return bins + 0x818; }
  [[nodiscard]] std::uint64_t bytes() const { return bins + 0x828; }
};

struct ArenaFound {
  RemoteAddr at;
  RemoteAddr top;
  std::uint64_t system_mem = 0;
};

// Values from `mp_`.
struct Parameters {
  RemoteAddr sbrk_base;
  std::uint64_t mapped_chunks = 0;
  std::uint64_t mapped_bytes = 0;
  std::uint64_t cache_count = 0;  // the most chunks in a bin of a thread's cache
};

struct Arenas {
  StateLayout layout;
  std::vector<ArenaFound> all;  // the first is main_arena
  std::optional<Parameters> parameters;
  std::size_t others = 0;  // main arenas of further copies of the C library that are in use

  // The bytes that all arenas took from the system.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const ArenaFound& arena : all) sum += arena.system_mem;
    return sum;
  }
};

// Searches `data`, the writable memory of modules, for main_arena and mp_. If there are several
// main arenas, chooses the one with the most memory. Returns nothing if the process has no glibc
// malloc or never used it.
std::optional<Arenas> find_arenas(const Words& words, std::span<const Range> data);

}  // namespace heapattach::glibc
