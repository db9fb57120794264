#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/trace/sites.h"

namespace heapattach {

// What --trace records and shows. The options for types, minimum bytes and number of rows are those
// of all tables.
struct TraceReportOptions {
  std::vector<std::string> command;                // a program to start; empty: none
  bool live = false;                               // the table is shown while it is recorded
  bool with_final_mark = true;                     // the heap at the end says what is dead
  std::uint64_t every = std::uint64_t{512} << 10;  // bytes allocated for a sample; 1: all
  std::chrono::milliseconds length{30'000};        // 0: until the process exits
  trace::GroupBy by = trace::GroupBy::Stack;
  trace::SortBy sort = trace::SortBy::Allocated;
  double min_count = 0;
  std::optional<trace::FrameText> frames;  // none: as suits the format
  bool with_all_frames = false;
  std::size_t depth = 0;              // frames; 0: all
  std::optional<trace::Value> value;  // none: as suits the format
};

}  // namespace heapattach
