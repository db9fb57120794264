#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "report/trace/sites.h"

namespace heapattach {

// What --trace records and shows. Types, least bytes and the number of rows are those of all
// tables.
struct TraceReportOptions {
  std::uint64_t every = std::uint64_t{512} << 10;  // bytes allocated for a sample; 1: all
  std::chrono::milliseconds length{30'000};
  trace::GroupBy by = trace::GroupBy::Stack;
  trace::SortBy sort = trace::SortBy::Allocated;
  double min_count = 0;
  std::optional<trace::FrameText> frames;  // none: as suits the format
  bool with_all_frames = false;
  std::size_t depth = 0;              // frames; 0: all
  std::optional<trace::Value> value;  // none: as suits the format
};

}  // namespace heapattach
