#pragma once

#include <cstdint>
#include <vector>

#include "report/trace/trace.h"

// Sums up a trace, in the smallest parts that any report needs.
//
// Each sample represents 1 / (1 - exp(-bytes / every)) allocations of its size, the inverse of the
// probability of being sampled, so their sums are unbiased estimates of all allocations. With
// `every` 1, each represents only itself.
//
// "In use" means allocated during the trace, and neither freed by the program nor found unreachable
// since. It includes objects that die after the end of the trace.
namespace heapattach::trace {

struct Amounts {
  std::uint64_t samples = 0;
  double allocations = 0;
  double bytes = 0;  // of these
  double in_use_objects = 0;
  double in_use_bytes = 0;

  Amounts& operator+=(const Amounts& other);
};

// The allocations with one stack, type, thread and fiber; each of these may be kNone.
struct Cell {
  std::uint32_t stack = kNone;
  std::uint32_t type = kNone;
  std::uint32_t thread = kNone;
  std::uint32_t fiber = kNone;
  Amounts amounts;
};

// What distinguishes cells, besides stack and type. A service may have one fiber per request, which
// would give nearly as many cells as events.
struct CellParts {
  bool threads = false;
  bool fibers = false;
};

// Counts the cells, in the order of their first events. No two cells have the same parts.
[[nodiscard]] std::vector<Cell> count_cells(const Trace& trace, const CellParts& parts);

// How many allocations a sample of `bytes` bytes represents.
[[nodiscard]] double weight_of(std::uint64_t bytes, std::uint64_t every);

}  // namespace heapattach::trace
