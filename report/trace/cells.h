#pragma once

#include <cstdint>
#include <vector>

#include "report/trace/trace.h"

// The sums of a trace, in the smallest parts that any report of it needs.
//
// Each sample represents 1 / (1 - exp(-bytes / every)) allocations of its size, because that is how
// rarely one of its size is sampled; so sums of them are unbiased estimates of all allocations.
// With every 1, each represents itself.
//
// In use is what was allocated during the trace and has neither been freed by the program nor been
// found unreachable. What the trace was too short to see die is in use.
namespace heapattach::trace {

struct Amounts {
  std::uint64_t samples = 0;
  double allocations = 0;
  double bytes = 0;  // of these
  double in_use_objects = 0;
  double in_use_bytes = 0;

  Amounts& operator+=(const Amounts& other);
};

// What was allocated with one stack, of one type, by one thread and fiber; each may be kNone.
struct Cell {
  std::uint32_t stack = kNone;
  std::uint32_t type = kNone;
  std::uint32_t thread = kNone;
  std::uint32_t fiber = kNone;
  Amounts amounts;
};

// Which parts tell cells apart besides stack and type. A service may have a fiber for each request,
// and then there are nearly as many cells as events.
struct CellParts {
  bool threads = false;
  bool fibers = false;
};

// In the order of their first events; no two have the same parts.
[[nodiscard]] std::vector<Cell> count_cells(const Trace& trace, const CellParts& parts);

// How many allocations a sample of `bytes` bytes represents.
[[nodiscard]] double weight_of(std::uint64_t bytes, std::uint64_t every);

}  // namespace heapattach::trace
