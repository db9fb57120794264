#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "symbols/boehm/arch/evaluator.h"

namespace heapattach::boehm {

// The return address of the analysed function.
inline constexpr std::uint64_t kReturnToCaller = 0xfee1deadfee1dead;

// The state of one path, apart from the registers, which each processor has in its own way.
struct PathState {
  struct Cell {
    Expr value{};
    unsigned width = 8;
  };
  RemoteAddr pc;
  std::map<std::int64_t, Cell> frame;  // by offset from the stack pointer at entry
  unsigned depth = 0;                  // of followed calls
  std::map<RemoteAddr, unsigned> visits;
  FunctionPath path;
};

// Models memory with expressions instead of numbers.
class MemoryModel {
 public:
  MemoryModel(ExprPool& pool, const CodeSource& source) : pool_(pool), source_(source) {}

  Expr load(const PathState& state, Expr address, unsigned width);
  void store(PathState& state, Expr address, Expr value, unsigned width);
  // Sign-extends a value to `to` bytes; unknown unless the sign bit is known to be 0.
  Expr sign_extended(Expr value, unsigned from, unsigned to);

 protected:
  [[nodiscard]] std::optional<std::int64_t> frame_offset(Expr address) const;

  ExprPool& pool_;
  const CodeSource& source_;
};

}  // namespace heapattach::boehm
