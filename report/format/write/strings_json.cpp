// One JSON object on one line, version 1:
//
//   {"version":1,"report":"strings","pid":4711,"strings":N,"bytes":N,"distinct":N,
//    "wasted_bytes":N,"duplicates":[{"text":"user-1","type":"String","copies":100,"bytes":3200,
//    "wasted_bytes":3168}]}
//
// `strings` and `bytes` count all reachable strings, `wasted_bytes` what all duplicates take beyond
// one copy each, whatever --top left out of `duplicates`. A text of which only the beginning is
// shown has "cut":true and "text_bytes". Empty keys are left out: "cut_strings" and "without_text",
// strings that could not be compared because the snapshot has only their beginning or none of their
// text; "lossy":true unless a text had to be changed; "complete":false with its "reason".

#include "report/format/write/string_formats.h"

namespace heapattach {

std::string format_strings_json(const StringReport& report) {
  const snapshot::Duplicates& found = report.found;
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "strings");
  record.number("pid", report.pid);
  record.number("strings", found.strings);
  record.number("bytes", found.bytes);
  record.number("distinct", found.distinct);
  record.number("wasted_bytes", found.wasted_bytes);
  if (found.cut != 0) record.number("cut_strings", found.cut);
  if (found.without_text != 0) record.number("without_text", found.without_text);
  if (!report.complete) {
    record.boolean("complete", false);
    record.text("reason", report.reason);
  }
  add_rows("duplicates", string_grid(report), record);
  return std::move(record).line();
}

}  // namespace heapattach
