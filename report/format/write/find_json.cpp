// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"type":"Session","objects":200,"matches":2,"undecided":0,
//    "found":[{"address":"0x7f12a0","type":"Session","bytes":48,
//              "values":{"@user.name":"\"ann\""}}]}
//
// Values are as the text report writes them: texts in quotes, addresses of objects, numbers, nil.
// --top leaves out of `found`, never of `matches`. An object is `undecided` if only the
// part of a text that was cut off would decide. "complete":false and a "reason" if the snapshot is
// partial.

#include <algorithm>
#include <utility>

#include "report/format/write/json_record.h"
#include "report/format/write/text_reports.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

// The paths come from the user, and are keys here.
std::string values_json(const std::vector<std::string>& paths,
                        const std::vector<std::string>& values) {
  std::string json = "{";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i != 0) json += ',';
    append_json_string(json, paths[i]);
    json += ':';
    append_json_string(json, values[i]);
  }
  return json + '}';
}

}  // namespace

std::string format_find_json(const snapshot::Snapshot& snapshot,
                             const analyze::FindMatches& matches,
                             std::size_t most) {
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", snapshot.header.pid);
  record.text("type", matches.type);
  record.number("objects", matches.objects);
  record.number("matches", matches.found.size());
  record.number("undecided", matches.undecided);
  if (!snapshot.complete) {
    record.boolean("complete", false);
    record.text("reason", snapshot.reason);
  }
  const std::size_t shown = most == 0 ? matches.found.size() : std::min(most, matches.found.size());
  record.open_list("found");
  for (std::size_t i = 0; i < shown; ++i) {
    const snapshot::Object& object = snapshot.objects[matches.found[i].object];
    JsonRecord item;
    item.address("address", object.address);
    item.text("type", snapshot.types[object.type].name);
    item.number("bytes", snapshot.bytes_of(object));
    if (!matches.paths.empty()) {
      item.raw("values", values_json(matches.paths, matches.found[i].values));
    }
    record.item(std::move(item));
  }
  record.close_list();
  return std::move(record).line();
}

}  // namespace heapattach
