#pragma once

#include <array>
#include <cstdint>

#include "report/typing/claim_fit.h"
#include "report/typing/typing_plan.h"
#include "symbols/heap/heap.h"
#include "symbols/heap/joined.h"

namespace heapattach::snapshot {

// The type of each object slot: a rank and a row in 32 bits. A higher value is better; 0 means that
// the object has no type.
class TypeCells {
 public:
  static std::uint32_t encode(Rank rank, TypeIndex row) {
    return static_cast<std::uint32_t>(rank) << kRowBits | (kRowMask - row);
  }
  static Rank rank_of(std::uint32_t cell) { return static_cast<Rank>(cell >> kRowBits); }
  static TypeIndex row_of(std::uint32_t cell) { return kRowMask - (cell & kRowMask); }

 private:
  static constexpr unsigned kRowBits = 29;
  static constexpr std::uint32_t kRowMask = (1U << kRowBits) - 1;
};

// Caches how claims fit objects of a size and kind. A heap has few such pairs, and computing the
// fit takes longer than everything else that is done with a pointer.
class FitMemo {
 public:
  // The fit of a claim through a pointer to the start of an object.
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t cell = 0;  // as in TypeCells
    TypeIndex row = 0;
    bool is_plain = false;  // false: the claim does not fit, or the object's contents decide
    bool leads = false;     // objects of the row make claims about other objects
  };

  // Borrows all of them.
  FitMemo(const heap::Heap& heap, const TypeRows& rows, const TypingPlan& plan)
      : heap_(heap), rows_(rows), plan_(plan) {}

  [[nodiscard]] const Entry& of(std::uint32_t claim, const heap::Block& block) {
    const bool is_large = block.objects == 1 && (block.flags & heap::kChunk) == 0;
    if (is_large || block.object_bytes > kMostBytes) return of_large_;
    const std::uint64_t key = ((std::uint64_t{claim} + 1) << 32) | block.object_bytes << 4 |
                              std::uint64_t{block.heap} << 1 |
                              static_cast<std::uint64_t>(block.is_atomic());
    Entry& entry = entries_[(key * kFactor) >> (64 - kBits)];
    if (entry.key != key) entry = work_out(key, claim, block);
    return entry;
  }

 private:
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  static constexpr unsigned kBits = 8;
  static_assert(heap::kMostJoined <= 8);
  static constexpr std::uint64_t kMostBytes = (1U << 28) - 1;

  [[nodiscard]] Entry work_out(std::uint64_t key,
                               std::uint32_t number,
                               const heap::Block& block) const {
    const Claim& claim = plan_.claim(number);
    const Fit found = fit(claim, block, heap_.sizes_of(block), 0, rows_);
    if (found.rank == Rank::None) return {key, 0, 0, false, false};
    const bool is_plain =
        !may_be_no_text(claim, found, block, rows_) && !may_be_single(claim, found, block);
    return {key, TypeCells::encode(found.rank, found.row), found.row, is_plain,
            plan_.of_row(found.row).has_claims() && !block.is_atomic()};
  }

  const heap::Heap& heap_;
  const TypeRows& rows_;
  const TypingPlan& plan_;
  std::array<Entry, std::size_t{1} << kBits> entries_{};
  const Entry of_large_{};  // for large objects, which are few and vary in size: never plain
};

}  // namespace heapattach::snapshot
