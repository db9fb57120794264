#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "report/trace/live_samples.h"
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

// The parts that distinguish cells, besides stack and type. A service may have one fiber per
// request, which would give nearly as many cells as events.
struct CellParts {
  bool threads = false;
  bool fibers = false;
};

// Counts cells while events are added in order.
class CellCounter {
 public:
  CellCounter(std::uint64_t every, const CellParts& parts) : every_(every), parts_(parts) {}

  void add(const Event& event);
  // The cells, in the order of their first events. No two have the same parts.
  [[nodiscard]] std::vector<Cell> cells() const;

 private:
  // A cell's stack and type, and its thread and fiber.
  struct Key {
    std::uint64_t of_code = 0;
    std::uint64_t of_actor = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  void allocate(const Event& event);
  void end(const std::optional<LiveSamples::Sample>& sample);
  std::uint32_t cell_of(const Event& event);

  std::uint64_t every_;
  CellParts parts_;
  std::vector<Cell> cells_;
  std::unordered_map<Key, std::uint32_t, Hash> numbers_;
  LiveSamples live_;
};

// The cells of a whole trace.
[[nodiscard]] std::vector<Cell> count_cells(const Trace& trace, const CellParts& parts);

struct CountedCells {
  std::vector<Cell> cells;
  bool is_cut = false;  // the time was too short for all events
};
[[nodiscard]] CountedCells count_cells(const Trace& trace,
                                       const CellParts& parts,
                                       std::chrono::steady_clock::time_point until);

// How many allocations a sample of `bytes` bytes represents.
[[nodiscard]] double weight_of(std::uint64_t bytes, std::uint64_t every);

}  // namespace heapattach::trace
