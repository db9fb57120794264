#include "report/typing/claim_fit.h"

#include <algorithm>

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kGranule = 16;

// The fit of an object to whose start the pointer points.
Fit fit_instance(const Claim& claim, std::uint64_t object_bytes, const heap::SlotSizes& sizes) {
  const std::uint64_t n = claim.bytes;
  if (object_bytes < n) return {};
  if (object_bytes - n <= kGranule && n >= kGranule / 2) return {Rank::Exact, claim.one};
  // A single small structure takes the smallest slot. An array could fit there, too, but a pointer
  // to a structure usually means one structure.
  if (object_bytes <= sizes.smallest && claim.one != claim.many) return {Rank::Loose, claim.one};
  if (claim.has_tail) return {Rank::Loose, claim.one};
  // Several instances need the spare bytes, too: two of 40 bytes do not fit in a collector's 80.
  const bool has_room = object_bytes / 2 >= n && object_bytes >= 2 * n + sizes.spare;
  if (has_room && claim.many != kNoRow) {
    return {Rank::Several, claim.many};
  }
  return sizes.may_hold(object_bytes, n) ? Fit{Rank::Loose, claim.one} : Fit{};
}

// The fit of an object that has a header, and room for the element to which the pointer points.
Fit fit_after_header(const Claim& claim, std::uint64_t object_bytes, std::uint64_t inside) {
  if (claim.many == kNoRow || claim.step == 0 || inside < claim.header) return {};
  if ((inside - claim.header) % claim.step != 0) return {};
  if (inside > object_bytes || claim.bytes > object_bytes - inside) return {};
  return {inside == claim.header ? Rank::Elements : Rank::Inside, claim.many};
}

Fit fit_inside(const Claim& claim, std::uint64_t object_bytes, std::uint64_t inside) {
  if (claim.header != 0) return fit_after_header(claim, object_bytes, inside);
  if (claim.step == 0 || inside % claim.step != 0 || claim.many == kNoRow) return {};
  if (claim.bytes > object_bytes / 2) return {};
  return {Rank::Inside, claim.many};
}

Fit fit_size(const Claim& claim,
             std::uint64_t object_bytes,
             const heap::SlotSizes& sizes,
             std::uint64_t inside) {
  if (inside != 0) return fit_inside(claim, object_bytes, inside);
  switch (claim.how) {
    case Claim::How::Instance: return fit_instance(claim, object_bytes, sizes);
    case Claim::How::Elements:
      return claim.bytes > object_bytes ? Fit{} : Fit{Rank::Elements, claim.one};
    case Claim::How::Start: return {Rank::Name, claim.one};
  }
  return {};
}

// If an object is as large as an instance of a derived type, nothing shows which of the two types
// it has. Returns a fit for both then, and otherwise `found`.
Fit or_subtype(const Fit& found,
               const Claim& claim,
               std::uint64_t object_bytes,
               const TypeRows& rows) {
  if (claim.one_or_subtype == kNoRow) return found;
  for (const std::uint64_t bytes : rows.subtype_bytes(claim.one_or_subtype)) {
    const bool fits = object_bytes >= bytes && object_bytes - bytes <= kGranule;
    if (fits && bytes >= kGranule / 2) return {Rank::Loose, claim.one_or_subtype};
  }
  return found;
}

}  // namespace

Fit fit(const Claim& claim,
        const heap::Block& block,
        const heap::SlotSizes& sizes,
        std::uint64_t inside,
        const TypeRows& rows) {
  Fit found = fit_size(claim, block.object_bytes, sizes, inside);
  if (inside == 0 && claim.how == Claim::How::Instance) {
    found = or_subtype(found, claim, block.object_bytes, rows);
  }
  if (found.rank == Rank::None) return {};
  const RowLayout& layout = rows.layout(found.row);
  if (!layout.is_precise) return found;
  if (block.is_atomic() && layout.has_pointers()) return {};
  if (!block.is_atomic() && claim.by_kind && !layout.may_point()) {
    // Crystal would have allocated such an object as atomic. So this is something else, or belongs
    // to a C library.
    return claim.other_kind == kNoRow ? Fit{} : Fit{Rank::Name, claim.other_kind};
  }
  return found;
}

bool may_be_single(const Claim& claim, const Fit& found, const heap::Block& block) {
  constexpr std::uint64_t kLargestMerged = 4 * kGranule;
  return found.rank == Rank::Several && claim.one != kNoRow && !block.is_atomic() &&
         block.object_bytes <= std::min(kLargestMerged, 4 * claim.bytes);
}

// The two highest bytes of an address are zero, so no pointer is part of a text.
bool is_text_to_its_end(const Claim& claim, std::span<const std::byte> contents) {
  const auto end = static_cast<std::size_t>(
      std::find(contents.begin(), contents.end(), std::byte{0}) - contents.begin());
  if (end < kGranule || end == contents.size()) return false;
  return claim.how == Claim::How::Elements || contents.size() - end <= kGranule + kGranule / 2;
}

bool may_be_no_text(const Claim& claim,
                    const Fit& found,
                    const heap::Block& block,
                    const TypeRows& rows) {
  return claim.bytes == 1 && !block.is_atomic() && !rows.layout(found.row).may_point();
}

}  // namespace heapattach::snapshot
