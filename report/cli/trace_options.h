#pragma once

#include <optional>

#include "report/trace/sites.h"

namespace heapattach {

// What --trace shows. Types, least bytes and the number of rows are those of all tables.
struct TraceReportOptions {
  trace::GroupBy by = trace::GroupBy::Stack;
  trace::SortBy sort = trace::SortBy::Allocated;
  double min_count = 0;
  std::optional<trace::FrameText> frames;  // none: as suits the format
  bool with_all_frames = false;
  std::size_t depth = 0;              // frames; 0: all
  std::optional<trace::Value> value;  // none: as suits the format
};

}  // namespace heapattach
