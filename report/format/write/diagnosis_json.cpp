// One JSON object on one line, version 1:
//
//   {"version":1,"report":"diagnose","pid":4711,"exe":"/srv/app","captured":"…","pause_ms":2.9,
//    "verdict":"leaking","sentence":"leaking: 3759 objects …","found":true,
//    "findings":[{"kind":"leaking","severity":"fault","sentence":"…","evidence":["…"],
//                 "next":"heapattach leaks --confirm 2s 4711"}],
//    "looked_at":["3 threads","…"],"not_looked_at":["…"],"next":"heapattach …"}
//
// `verdict` is the kind of the finding that decides, "healthy", or "unknown" if nothing could be
// looked at. Kinds: deadlock, lost_lock, all_waiting, stopped, busy, limit, growing, leaking,
// fragmented, untrimmed, outside, swapped, descriptors, waiting, holder, repeated. Severities:
// fault (then "found" is true), unusual, remark. Sentences are for people, and may change. There is
// no "next" if the source cannot be read again.

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/format/write/diagnosis_formats.h"
#include "report/format/write/json_record.h"

namespace heapattach {

namespace {

std::string_view severity_word(diagnose::Severity severity) {
  switch (severity) {
    case diagnose::Severity::Fault: return "fault";
    case diagnose::Severity::Unusual: return "unusual";
    case diagnose::Severity::Remark: break;
  }
  return "remark";
}

void add_command(const std::string& command, JsonRecord& record) {
  if (!command.empty()) record.text("next", "heapattach " + command);
}

}  // namespace

std::string format_diagnosis_json(const DiagnosisReport& report) {
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "diagnose");
  record.number("pid", report.evidence.pid);
  record.text_unless_empty("exe", report.evidence.exe);
  record.attributes_unless_empty("resource", report.evidence.resource);
  record.text_unless_empty("captured", report.evidence.captured);
  if (report.evidence.pause_ms) {
    record.raw("pause_ms", fmt::format("{:.3f}", *report.evidence.pause_ms));
  }
  record.text("verdict", report.verdict.kind);
  record.text("sentence", report.verdict.sentence);
  record.boolean("found", report.verdict.is_fault);
  record.open_list("findings");
  for (const diagnose::Finding& finding : report.verdict.findings) {
    JsonRecord item;
    item.text("kind", finding.kind);
    item.text("severity", severity_word(finding.severity));
    item.text("sentence", finding.sentence);
    item.list("evidence", finding.evidence);
    add_command(finding.next, item);
    record.item(std::move(item));
  }
  record.close_list();
  record.list("looked_at", report.verdict.looked_at);
  record.list_unless_empty("not_looked_at", report.evidence.not_examined);
  add_command(report.verdict.next, record);
  return std::move(record).line();
}

}  // namespace heapattach
