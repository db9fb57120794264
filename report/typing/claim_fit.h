#pragma once

#include <cstdint>

#include "report/typing/type_rows.h"
#include "symbols/boehm/blocks.h"

namespace heapattach::snapshot {

// How certain an object's type is, from least to most.
enum class Rank : std::uint8_t { None, Name, Inside, Several, Loose, Elements, Exact, Header };

struct Fit {
  Rank rank = Rank::None;
  TypeIndex row = kNoRow;
};

// How well `claim` fits an object of `block` that the pointer enters `inside` bytes after its
// start.
[[nodiscard]] Fit fit(const Claim& claim,
                      const boehm::Block& block,
                      std::uint64_t inside,
                      const TypeRows& rows);

// Whether an object that fits several instances may be one, in a larger slot: the collector merges
// small sizes, and clears what is allocated. So it is one if all after the first instance is zero.
[[nodiscard]] bool may_be_single(const Claim& claim, const Fit& found, const boehm::Block& block);

// Whether the fit is text in an object that is text only if it holds no pointers: a pointer to
// characters often points to anything.
[[nodiscard]] bool may_be_no_text(const Claim& claim,
                                  const Fit& found,
                                  const boehm::Block& block,
                                  const TypeRows& rows);

}  // namespace heapattach::snapshot
