#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/trace/trace.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

// Adds the records of a trace to `trace`, line by line.
class TraceRecords {
 public:
  explicit TraceRecords(trace::Trace& trace) : trace_(trace) {}

  // Reads a line. Returns a description of the error, empty if there is none.
  std::string read(std::string_view line);

  [[nodiscard]] bool has_header() const { return has_header_; }
  [[nodiscard]] bool has_end() const { return has_end_; }
  // After the end record of a complete trace, checks its counts. Returns a description of the
  // error, empty if there is none.
  [[nodiscard]] std::string wrong_counts() const;

 private:
  void read_known(std::string_view kind, JsonCursor& json);
  void read_header(JsonCursor& json);
  void read_type(JsonCursor& json);
  void read_frame(JsonCursor& json);
  void read_stack(JsonCursor& json);
  void read_thread(JsonCursor& json);
  void read_fiber(JsonCursor& json);
  void read_event(std::string_view kind, JsonCursor& json);
  void read_end(JsonCursor& json);

  bool read_id(JsonCursor& json, std::size_t expected);
  bool read_index(JsonCursor& json, std::size_t size, std::uint32_t& out);

  trace::Trace& trace_;
  bool has_header_ = false;
  bool has_end_ = false;
  std::uint64_t allocs_ = 0;
  std::uint64_t frees_ = 0;
  std::uint64_t said_allocs_ = 0;
  std::uint64_t said_frees_ = 0;
  bool has_id_ = false;
};

}  // namespace heapattach::read
