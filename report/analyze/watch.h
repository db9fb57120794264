#pragma once

#include <string>
#include <unordered_map>

#include "report/analyze/difference.h"

namespace heapattach::analyze {

// Repeated counts of one process: which types grew each time. A cache that fills and is emptied, or
// a burst of work, grows in some rounds; a leak grows in all.
class Watch {
 public:
  // The next counts, with all their rows.
  void add(const snapshot::CountTable& table);

  // How many comparisons there were.
  [[nodiscard]] std::size_t rounds() const { return tables_ == 0 ? 0 : tables_ - 1; }
  // From the first counts to the last: rows for the types whose bytes grew in each round, and the
  // growth of all types.
  [[nodiscard]] Difference difference() const;
  // The same with rows for all types.
  [[nodiscard]] Difference all() const;

 private:
  struct Seen {
    Amount first;
    Amount last;
    std::size_t in_table = 0;  // the last round that had it
    std::size_t grown = 0;     // in how many rounds
  };

  std::unordered_map<std::string, Seen> types_;
  std::size_t tables_ = 0;
};

}  // namespace heapattach::analyze
