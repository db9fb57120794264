#include "report/typing/typing_plan.h"

namespace heapattach::snapshot {

TypingPlan::TypingPlan(const TypeRows& rows) {
  rows_.reserve(rows.types().size());
  for (TypeIndex row = 0; row < rows.types().size(); ++row) rows_.push_back(add(rows.layout(row)));
}

TypingPlan::Part TypingPlan::add(const RowLayout& layout) {
  Part part;
  part.elements_at = layout.elements_at;
  part.element_bytes = layout.element_bytes;
  part.first = static_cast<std::uint32_t>(claims_.size());
  part.count = static_cast<std::uint32_t>(layout.claims.size());
  claims_.insert(claims_.end(), layout.claims.begin(), layout.claims.end());
  part.element_first = static_cast<std::uint32_t>(claims_.size());
  part.element_count = static_cast<std::uint32_t>(layout.element_claims.size());
  claims_.insert(claims_.end(), layout.element_claims.begin(), layout.element_claims.end());
  return part;
}

}  // namespace heapattach::snapshot
