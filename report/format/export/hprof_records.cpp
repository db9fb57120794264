#include "report/format/export/hprof_records.h"

namespace heapattach {

void HprofRecords::put_head(HprofTag tag, std::uint64_t bytes) {
  std::string head;
  add(head, static_cast<std::uint8_t>(tag));
  add(head, std::uint32_t{0});  // when
  add(head, static_cast<std::uint32_t>(bytes));
  out_.put(head);
}

void HprofRecords::put(HprofTag tag, std::string_view body) {
  put_head(tag, body.size());
  out_.put(body);
}

std::uint64_t HprofRecords::put_string(std::string_view text) {
  std::string body;
  add_id(body, ++last_string_);
  body += text;
  put(HprofTag::Utf8, body);
  return last_string_;
}

std::string& HprofRecords::segment(std::size_t bytes) {
  if (segment_.size() + bytes > kSegmentBytes) end_segment();
  return segment_;
}

void HprofRecords::end_segment() {
  if (!segment_.empty()) put(HprofTag::Segment, segment_);
  segment_.clear();
}

}  // namespace heapattach
