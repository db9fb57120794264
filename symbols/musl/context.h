#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbols/malloc/words.h"

// Finds the data that musl's malloc (mallocng, since 1.2.1) begins with, by its shape, without
// symbols. It is a static structure of the C library:
//
//     0x000  a secret of 64 random bits
//     0x008  1 since the first allocation, then a counter
//     0x010  the first free meta
//     0x018  the first unused meta of the last area, and how many there are
//     0x038  the first and the last area, each a page
//     0x050  by size class: the first meta with free slots
//     0x1d0  by size class: the number of slots
//     0x398  the break
//
// An area begins with the same secret, so chance or other data cannot look like it.
namespace heapattach::musl {

inline constexpr unsigned kClasses = 48;

struct Context {
  RemoteAddr at;
  std::uint64_t secret = 0;
  RemoteAddr free_metas{};    // a ring; null if there is none
  RemoteAddr unused_metas{};  // in the last area
  std::uint64_t unused = 0;   // their number
  RemoteAddr first_area{};
  RemoteAddr last_area{};
  std::array<std::uint64_t, kClasses> slots{};  // by size class, free or not

  static constexpr std::uint64_t kBytes = 0x3a0;
};

// The contexts in `data`, the writable memory of modules, that have allocated something. A process
// has one, unless a library brings a C library of its own.
std::vector<Context> find_contexts(const glibc::Words& words, std::span<const Range> data);

}  // namespace heapattach::musl
