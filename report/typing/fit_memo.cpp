#include "report/typing/fit_memo.h"

namespace heapattach::snapshot {

FitMemo::Entry FitMemo::work_out(std::uint64_t key,
                                 std::uint32_t number,
                                 const heap::Block& block) const {
  const Claim& claim = plan_.claim(number);
  const Fit found = fit(claim, block, 0, rows_);
  if (found.rank == Rank::None) return {key, 0, 0, false, false};
  const bool is_plain =
      !may_be_no_text(claim, found, block, rows_) && !may_be_single(claim, found, block);
  return {key, TypeCells::encode(found.rank, found.row), found.row, is_plain,
          plan_.of_row(found.row).has_claims() && !block.is_atomic()};
}

}  // namespace heapattach::snapshot
