#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heapattach::unwind {

// Ranges of code, each with the number of its owner. They may overlap and nest.
class CodeRanges {
 public:
  void add(std::uint64_t start, std::uint64_t end, std::size_t owner);
  // Call once, after the last add().
  void sort();

  // The owner of the range that contains `pc`; of several, the one that starts last.
  [[nodiscard]] std::optional<std::size_t> at(std::uint64_t pc) const;

  [[nodiscard]] std::size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::size_t owner = 0;
    std::uint64_t furthest = 0;  // the highest end of this range and all ranges before it
  };
  std::vector<Range> ranges_;  // by start
};

}  // namespace heapattach::unwind
