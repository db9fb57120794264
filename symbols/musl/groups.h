#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "symbols/musl/context.h"

// Walks the groups of musl's malloc (src/malloc/mallocng, 1.2.1 to 1.2.5). A group is a row of
// slots of one size, after a header of 16 bytes that begins with the address of the group's meta.
// Metas are kept apart, in areas of a page each:
//
//     area:  the secret, the next area, the number of metas, metas of 40 bytes
//     meta:  two links, the group, the masks of slots that are available and freed, and in one
//            word: the last slot (5 bits), whether the group may be freed (1), the size class (6),
//            the pages of its mapping
//
// A group has a mapping of its own, or is nested in a slot of a larger group. The loader donates
// the ends of a library's pages, which become groups of one slot. A slot in neither mask is in use.
//
//     slot:  4 bytes before it: a zero, its number and the unused bytes at its end (below 5, or 5
//            and their number in the slot's last word), and the distance from the first slot in
//            units of 16. In a large slot, the program's memory may begin later, which the bytes
//            before the slot then say.
namespace heapattach::musl {

inline constexpr std::uint64_t kUnit = 16;

struct Group {
  RemoteAddr meta;
  RemoteAddr at;
  std::uint64_t bytes = 0;   // of the mapping, or of the group without one
  std::uint64_t stride = 0;  // from slot to slot
  std::uint32_t slots = 0;
  std::uint32_t in_use = 0;  // a bit for each slot
  std::uint32_t nested = 0;  // of these, the slots that hold another group
  bool is_mapped = false;
  bool is_nested = false;  // in the group before it

  [[nodiscard]] RemoteAddr end() const { return at + bytes; }
  [[nodiscard]] RemoteAddr slot(std::uint64_t i) const { return at + kUnit + stride * i; }
  [[nodiscard]] std::uint64_t free_bytes() const {
    return stride * (slots - static_cast<unsigned>(std::popcount(in_use)));
  }
};

struct Groups {
  std::vector<Group> all;    // sorted; nested ones come after the group around them
  std::vector<Range> areas;  // of metas
  std::vector<std::string> problems;
};

// `threads` may each be about to take or to return a meta.
Groups walk_groups(const glibc::Words& words,
                   const std::vector<Context>& contexts,
                   std::size_t threads);

// The memory that the program got.
struct Allocation {
  RemoteAddr at;
  std::uint64_t bytes = 0;      // as many as it asked for
  bool is_overwritten = false;  // the number of bytes was lost: as many as there is room for
};

// Reads a slot in use. None if it has no valid header, because a thread is just allocating or
// freeing it.
std::optional<Allocation> read_slot(const glibc::Words& words, const Group& group, unsigned slot);

// The allocation at this address, by its group, which an area with the context's secret must
// describe. None if there is none that is in use.
std::optional<Allocation> allocation_at(const glibc::Words& words,
                                        const Context& context,
                                        RemoteAddr at);

}  // namespace heapattach::musl
