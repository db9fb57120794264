// The version, as a line or as one JSON object on one line, version 1:
//
//   {"version":1,"report":"version","tool":"heapattach","release":"0.1.0","processor":"x86_64",
//    "snapshot_version":1,"reports":[{"report":"count","formats":["table","tsv"]}],
//    "exit_statuses":[{"status":0,"meaning":"complete"}]}
//
// It lists what a script can ask this release for. "version" is that of the object, as in all
// reports; "snapshot_version" is that of the saved snapshots that this release writes.

#include <string>

#include <fmt/format.h>

#include "attach/arch/processor_names.h"
#include "report/cli/help.h"
#include "report/cli/report_table.h"
#include "report/exit_status.h"
#include "report/format/write/json_record.h"

namespace heapattach {

std::string_view version_text() {
  return "heapattach " HEAPATTACH_VERSION;
}

std::string version_json() {
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "version");
  record.text("tool", "heapattach");
  record.text("release", HEAPATTACH_VERSION);
  record.text("processor", kOwnProcessorName);
  record.number("snapshot_version", 1);
  record.open_list("reports");
  for (const ReportRow& row : report_rows()) {
    if (row.name.empty()) continue;
    JsonRecord item;
    item.text("report", row.name);
    item.list("formats", names_of(formats_of(row)));
    record.item(std::move(item));
  }
  record.close_list();
  record.open_list("exit_statuses");
  for (const StatusText& row : kStatusTexts) {
    JsonRecord item;
    item.number("status", static_cast<int>(row.status));
    item.text("meaning", row.text);
    record.item(std::move(item));
  }
  record.close_list();
  return std::move(record).line();
}

}  // namespace heapattach
