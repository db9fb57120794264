#pragma once

#include <cstdint>

#include "report/typing/type_rows.h"
#include "symbols/boehm/blocks.h"

namespace heapattach::snapshot {

// How sure a type is of an object, from least to most.
enum class Rank : std::uint8_t { None, Name, Inside, Several, Loose, Elements, Exact, Header };

struct Fit {
  Rank rank = Rank::None;
  TypeIndex row = kNoRow;
};

// What `claim` makes of an object of `block` that is pointed to `inside` bytes behind its start.
[[nodiscard]] Fit fit(const Claim& claim,
                      const boehm::Block& block,
                      std::uint64_t inside,
                      const TypeRows& rows);

// Whether that fit is one of text to an object which is text only if it holds no pointers: one to
// characters is often one to anything.
[[nodiscard]] bool may_be_no_text(const Claim& claim,
                                  const Fit& found,
                                  const boehm::Block& block,
                                  const TypeRows& rows);

}  // namespace heapattach::snapshot
