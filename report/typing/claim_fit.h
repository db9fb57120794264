#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "report/typing/type_rows.h"
#include "symbols/heap/blocks.h"

namespace heapattach::snapshot {

// How certain an object's type is, from least to most.
enum class Rank : std::uint8_t { None, Name, Inside, Several, Loose, Elements, Exact, Header };

struct Fit {
  Rank rank = Rank::None;
  TypeIndex row = kNoRow;
};

// How well `claim` fits an object of `block`, if the pointer points `inside` bytes after its start.
// `sizes` are the sizes of the block's heap.
[[nodiscard]] Fit fit(const Claim& claim,
                      const heap::Block& block,
                      const heap::SlotSizes& sizes,
                      std::uint64_t inside,
                      const TypeRows& rows);

// Whether an object with room for several instances may be a single instance in a larger slot. The
// collector merges small sizes and clears objects on allocation, so this is possible if everything
// after the first instance is zero.
[[nodiscard]] bool may_be_single(const Claim& claim, const Fit& found, const heap::Block& block);

// Whether the fit is text in an object that may contain pointers, and so need not be text. Pointers
// to characters often point to other data.
[[nodiscard]] bool may_be_no_text(const Claim& claim,
                                  const Fit& found,
                                  const heap::Block& block,
                                  const TypeRows& rows);

// Whether the contents are certainly text: it is longer than a pointer. The bytes after its end do
// not count, because they may be left from an earlier use of the memory. This holds for a buffer
// with text, and for a copy of a text that fills its object.
[[nodiscard]] bool is_text_to_its_end(const Claim& claim, std::span<const std::byte> contents);

}  // namespace heapattach::snapshot
