#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/format/export/stream.h"

namespace heapattach {

enum class HprofTag : std::uint8_t {
  Utf8 = 0x01,
  LoadClass = 0x02,
  StackTrace = 0x05,
  Segment = 0x1c,
  End = 0x2c,
};

// Appends a big-endian number.
template <class Number>
void add(std::string& out, Number value) {
  for (int shift = 8 * (int{sizeof value} - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xff);
  }
}
inline void add_id(std::string& out, std::uint64_t id) {
  add(out, id);
}

// Writes the records of a heap dump, and collects sub-records into segments.
class HprofRecords {
 public:
  static constexpr std::size_t kSegmentBytes = std::size_t{1} << 20;

  explicit HprofRecords(ExportStream& out) : out_(out) {}

  void put(HprofTag tag, std::string_view body);
  // Writes the head of a record; the caller appends its body of `bytes`.
  void put_head(HprofTag tag, std::uint64_t bytes);
  // Writes a string and returns its number.
  std::uint64_t put_string(std::string_view text);

  // The segment for the next sub-record of about that many bytes.
  std::string& segment(std::size_t bytes);
  void end_segment();

 private:
  ExportStream& out_;
  std::string segment_;
  std::uint64_t last_string_ = 0;
};

}  // namespace heapattach
