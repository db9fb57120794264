#include "symbols/boehm/arch/path_state.h"

namespace heapattach::boehm {

namespace {

// No accessor needs more; any further cell is unknown.
constexpr std::size_t kMostCells = 256;

void forget_overlapping(PathState& state, std::int64_t offset, unsigned width) {
  std::erase_if(state.frame, [&](const auto& entry) {
    return entry.first < offset + static_cast<std::int64_t>(width) &&
           offset < entry.first + static_cast<std::int64_t>(entry.second.width);
  });
}

}  // namespace

// The offset in the frame, if the address is the stack pointer at entry plus a constant.
std::optional<std::int64_t> MemoryModel::frame_offset(Expr address) const {
  const ExprNode& node = pool_.at(address);
  if (node.op == ExprOp::Stack) return 0;
  if (node.op != ExprOp::Sum || node.terms.size() != 1 || node.terms[0].factor != 1) {
    return std::nullopt;
  }
  if (pool_.at(node.terms[0].of).op != ExprOp::Stack) return std::nullopt;
  // No frame is larger, and nothing can overflow.
  constexpr std::int64_t kFarthest = std::int64_t{1} << 31;
  const auto offset = static_cast<std::int64_t>(node.constant);
  if (offset < -kFarthest || offset > kFarthest) return std::nullopt;
  return offset;
}

Expr MemoryModel::load(const PathState& state, Expr address, unsigned width) {
  if (const auto offset = frame_offset(address)) {
    const auto cell = state.frame.find(*offset);
    if (cell == state.frame.end() || cell->second.width < width) return pool_.unknown();
    return pool_.truncate(cell->second.value, width);
  }
  const auto constant = pool_.constant_of(address);
  if (constant && width == 8) {
    if (const auto word = source_.constant(RemoteAddr{*constant})) return pool_.constant(*word);
  }
  return pool_.load(address, width);
}

void MemoryModel::store(PathState& state, Expr address, Expr value, unsigned width) {
  value = pool_.truncate(value, width);
  if (const auto offset = frame_offset(address)) {
    forget_overlapping(state, *offset, width);
    if (state.frame.size() < kMostCells) state.frame[*offset] = {value, width};
  } else {
    state.path.stores.push_back({address, value, width});
  }
}

// A number extended to `to` bytes with its sign. Exact only if the sign bit is known to be 0.
Expr MemoryModel::sign_extended(Expr value, unsigned from, unsigned to) {
  if (from == 0 || from > 8) return pool_.unknown();
  if (const auto constant = pool_.constant_of(value)) {
    const unsigned up = 64 - 8 * from;
    const auto wide = static_cast<std::int64_t>(*constant << up) >> up;
    return pool_.truncate(pool_.constant(static_cast<std::uint64_t>(wide)), to);
  }
  const std::uint64_t sign = std::uint64_t{1} << (8 * from - 1);
  if ((pool_.possible_bits(value) & sign) == 0) return value;
  return pool_.insert(pool_.unknown(), value, from);
}

}  // namespace heapattach::boehm
