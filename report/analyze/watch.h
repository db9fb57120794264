#pragma once

#include <string>
#include <unordered_map>

#include "report/analyze/difference.h"

namespace heapattach::analyze {

// Compares repeated counts of one process to find the types that grew each time. A leak grows in
// all rounds; a cache that is emptied now and then, or a burst of work, grows only in some.
class Watch {
 public:
  // Adds the next counts, which must have all rows.
  void add(const snapshot::CountTable& table);

  // The number of comparisons so far.
  [[nodiscard]] std::size_t rounds() const { return tables_ == 0 ? 0 : tables_ - 1; }
  // The difference between the first counts and the last, with rows for the types whose bytes grew
  // in every round. The total covers all types.
  [[nodiscard]] Difference difference() const;
  // The difference between the first counts and the last, with rows for all types.
  [[nodiscard]] Difference all() const;

 private:
  struct Seen {
    Amount first;
    Amount last;
    std::size_t in_table = 0;  // the last counts that had the type
    std::size_t grown = 0;     // the number of rounds in which it grew
  };

  std::unordered_map<std::string, Seen> types_;
  std::size_t tables_ = 0;
};

}  // namespace heapattach::analyze
